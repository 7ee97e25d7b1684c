"""Words that often stand for each other in restatements, English and Chinese.

The first word of a group is what the others count as. Loose on purpose: a wrong merge only makes
an overlap a little larger, while numbers, names and denials are compared elsewhere. The table grew
beside the development pairs; the held-out pairs were never read for it.
"""

from __future__ import annotations

from monitor.judge.text import word_list

_ENGLISH_GROUPS = """
buy purchase acquire | begin start commence launch initiate | finish conclude complete
help assist aid | large big huge sizeable | provide offer supply deliver give grant
need require necessary must compulsory mandatory obligatory | receive obtain get
use utilize employ utilise | show display indicate demonstrate reveal | establish create found set
locate situate lie | construct build erect | author writer | firm company corporation business
phone telephone mobile | customer client buyer shopper | cost price charge | repair fix mend
send ship dispatch post mail | delivery shipment | staff employee worker personnel
car automobile vehicle | doctor medic | movie film | alter change modify adjust
choose select pick | near close adjacent | child kid minor | fast quick rapid speedy
ask request inquire | happen occur | reply respond answer response | refund reimburse
maximum max | minimum min least | cancel terminate | renew extend | replace substitute swap
job position role post | die death dead decease | marry marriage wed | live reside inhabit
born birth | invent devise | produce manufacture make | hire recruit | year annual yearly
contact reach | enough sufficient | warranty guarantee | pay payment | picture photo photograph
error mistake fault | study research investigate | drug medicine medication | illness disease
contain include comprise consist hold | keep retain preserve | submit file lodge
password passcode | book reserve reservation booking | free complimentary gratis
fee charge fine penalty | parcel package packet | return back | home house dwelling residence
fire blaze burn | damage harm destroy | total whole entire full | discount reduction off
journey trip travel tour | passenger traveller rider | store shop outlet
boss manager head supervisor | pupil student learner | teacher instructor
lecture class lesson course | exam test examination | grade mark score | law legislation statute
rule regulation policy | court tribunal | landlord owner | tenant renter lessee | rent lease
deposit bond | contract agreement | approve approval authorise authorize permission consent
allow permit let | forbid prohibit ban | deadline due | late overdue tardy | early prompt
revenue sales turnover income | profit earnings | loss deficit | share stock
shareholder investor | dividend payout | ceo chief executive | resign quit
succeed successor replace | appoint name nominate | retire retirement | design plan draw
architect designer | museum gallery | exhibition exhibit | painting picture canvas
artist painter | renovate renovation refurbish restore | visitor guest | admission entry entrance
ticket pass fare | train rail railway | bus coach | plane aircraft airplane jet | ship boat vessel
luggage baggage suitcase bag | flight fly | road street | river stream | mountain peak | sea ocean
animal creature species | parent mother father | young juvenile offspring | food meal dish
eat consume dine feed | drink beverage | hot warm heat | cold cool chill | freeze frozen
dose dosage | tablet pill | injection jab vaccine vaccination | patient sufferer
pregnant pregnancy | surgery clinic operation | hospital infirmary | pain ache | allergy allergic
delete erase wipe clear | reset restore | device unit machine equipment | network wi-fi wifi
setting configuration config option | update upgrade patch | disable deactivate | enable activate
retry reattempt | call query | cap restrict ceiling threshold | exceed surpass
message notification | user member subscriber account | version release edition
software program app | bug defect flaw | crash fail failure | file document | folder directory
encrypt cipher | copy duplicate | download fetch | screen monitor display | key button
press push hold | lamp light | power electricity energy | fuel petrol gas gasoline | engine motor
speed velocity pace | distance range mileage | weight mass heavy | height tall elevation altitude
width wide broad | length long | depth deep | area region zone district | country nation state
city town municipality | population inhabitant resident people | government authority
mayor president leader | election vote ballot | war conflict battle | army military troop
kill slay murder | attack assault | treaty accord pact | discover discovery find detect
explore expedition | scientist researcher | theory hypothesis | experiment trial
prize award medal | win victory triumph | team side squad | player athlete | match game
coach trainer | goal aim target objective purpose | song track tune | band group | singer vocalist
perform performance play | novel book | publish issue | story tale | poem poetry verse
main principal chief primary major | important significant crucial vital
mostly mainly largely chiefly primarily predominantly | many numerous multiple several
increase rise grow growth climb expand | decrease fall drop decline reduce shrink lower cut
remain stay continue | stop cease halt end | prevent avoid block | cause lead result
improve enhance better | worsen deteriorate | measure gauge assess | calculate compute
check verify inspect examine confirm | explain describe clarify | tell inform notify advise alert
say mention declare announce report | think believe consider | want wish desire
like enjoy prefer | try attempt | easy simple straightforward | difficult hard tough challenging
safe secure | danger hazard risk | old ancient former previous prior | current present existing
next following subsequent | initial original | month monthly | week weekly | day daily
hour hourly | both two jointly shared share | collect gather fetch | bring carry transport convey
arrive reach come | transfer shift relocate move | borrow loan | debt owe | bank lender
money cash fund | withdraw withdrawal | tax duty levy | insurance insure coverage
compensation compensate reimburse | complaint complain grievance | review evaluate
lawyer attorney solicitor | evidence proof | crime offence | prison jail | property estate
room chamber | floor storey level | factory plant mill | worker labour labor | wage salary
holiday vacation | unused leftover remaining spare | proportion proportional pro-rata rata
earth planet world global | extract obtain isolate | academic academia scholarly
overseas foreign international abroad | domestic national | degree qualification diploma
apply application applicant candidate | subject topic theme | migrate migration
reproduce breed breeding
"""
_CHINESE_GROUPS = """
购买 买 购入 选购 | 费用 价格 价钱 花费 收费 | 位于 坐落于 坐落在 地处
成立 创立 创建 创办 建立 设立 | 需要 须 必须 需 应当 应该 | 开始 起始 启动 | 提供 供应 给出
使用 采用 利用 运用 | 大约 约 大概 左右 将近 | 包括 包含 涵盖 含有 | 获得 得到 获取 取得
公司 企业 厂商 | 电话 手机 | 员工 雇员 职工 劳动者 职员 | 帮助 协助
增长 上升 增加 提高 上涨 提升 | 下降 减少 降低 下滑 下跌 | 去世 逝世 死亡 | 出生 诞生 | 作者 作家
结束 终止 截止 | 取消 撤销 | 寄出 发货 寄送 | 允许 准许 许可 | 客户 顾客 用户 消费者 | 退款 退费
说明 表示 意味着 | 显示 出现 | 故障 损坏 | 营养 养分 | 重量 体重 | 不足 不到 不满 少于 低于 未满
超过 多于 高于 大于 | 至少 最少 不低于 | 最多 至多 不超过 不得超过 | 免费 免收
缴纳 支付 缴付 付款 | 车辆 汽车 | 每天 每日 一天 一日 | 每年 年度 | 立即 马上 立刻 | 更换 替换
保修 质保 | 申请 申报 | 提交 递交 | 审批 批准 核准 | 预约 预订 预定 | 参观 游览 | 门票 入场券
观众 游客 访客 旅客 乘客 | 儿童 孩子 未成年人 小孩 | 父母 家长 监护人 | 老年人 老人
医生 大夫 医师 | 药物 药品 | 服用 服药 口服 | 患者 病人 | 手术 开刀 | 怀孕 孕妇 | 饭前 餐前
饭后 餐后 | 嚼碎 咬碎 | 清洗 冲洗 | 冷藏 冷冻 | 打开 开封 拆开 | 食用 进食 | 饮用 喝
沸水 开水 滚水 | 学生 学员 | 考试 测验 | 成绩 分数 | 录取 招收 | 学校 院校 | 老师 教师 | 合同 协议
工资 薪水 薪酬 报酬 | 休息 休假 放假 | 签订 签署 订立 | 期限 时长 | 收入 营收 营业收入
利润 盈利 净利润 | 召开 举行 举办 | 公布 发布 宣布 公告 | 推出 上市 | 停止 停用 中止
限制 上限 限额 | 调用 请求 | 发射 升空 | 返回 回到 | 样品 样本 | 首次 第一次 首个 | 撰写 著有 写作
著名 知名 有名 | 主要 大部分 | 因为 由于 原因 | 导致 造成 引起 | 罚款 处罚 | 赔偿 赔付 补偿
到达 抵达 送达 | 延误 迟到 超时 | 快递 包裹 | 通知 告知 告诉 | 联系 咨询 | 在线 网上 线上
居民 市民 住户 | 小区 社区 | 租金 房租 月租 | 租赁 出租 | 续租 续约 | 繁殖 生育 | 居住 栖息
世界 全球 | 人口 人数 | 高度 海拔 | 温度 气温 | 屏幕 显示屏 | 行驶 驾驶 | 失效 到期 过期 无效
登记 注册 | 享受 享有 | 公路 道路 | 修建 建造 建设 建成 | 完成 完工 竣工 | 营业 开门 | 停业 关门
博物馆 博物院 | 医院 诊所 | 比赛 赛事 | 冠军 第一名 | 获胜 胜利 | 球员 选手 运动员 | 电影 影片
小说 图书 著作 | 导演 执导 | 主演 出演 | 科学家 研究人员 学者 | 发现 找到 | 年龄 岁数 周岁
母亲 妈妈 | 父亲 爸爸 | 担任 任职 出任 | 辞职 离职 | 账户 账号 | 登录 登陆 | 删除 清除 移除
保存 存储 储存 保留 | 更新 升级 | 支持 兼容 | 设备 机器 仪器 | 设置 设定 配置 | 按钮 按键
全部 所有 整个 | 少量 少许 | 大量 很多 许多 众多 | 仅仅 只有 | 剩余 剩下 | 迅速 快速 | 重要 关键
容易 简单 | 困难 艰难 | 危险 风险 | 明显 显著 | 通常 往往 | 禁止 不准 严禁 不许
"""


def _groups(table: str) -> list[list[str]]:
    return [word_list(group) for group in table.replace("\n", "|").split("|") if group.strip()]


ENGLISH = _groups(_ENGLISH_GROUPS)
CHINESE = {word: group[0] for group in reversed(_groups(_CHINESE_GROUPS)) for word in group}
