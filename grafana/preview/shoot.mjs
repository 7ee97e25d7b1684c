// Draws dashboards from a live Prometheus and takes their pictures. `--help` tells how.
import { createReadStream, existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import puppeteer from "puppeteer-core";

const HERE = dirname(fileURLToPath(import.meta.url));
const HELP = `node shoot.mjs --prometheus URL --out DIR [options] [DASHBOARD.json ...]

Draws dashboards (all of ../dashboards without a name) with the queries answered by the Prometheus at
URL, and writes NAME-WIDTHxHEIGHT-THEME.png (the first screen) and NAME-WIDTH-THEME-page.png (all of
it). Prints what every panel that is not well shows, and ends with 1 if one has no data or an error.

  --at SECONDS       end of the time range, seconds since the epoch; default: now
  --range 15m        its length; default: the dashboard's own
  --scrape SECONDS   scrape interval of the Prometheus; default: 15
  --size 1280x800    may be given several times; default: 1280x800 and 1920x1080
  --theme light      may be given several times; default: light and dark
  --var NAME=VALUE   may be given several times; default: as the dashboard says
  --expand           opens rows that are saved collapsed
  --quiet            says nothing of panels that show their own text for "no value"
  --chromium PATH    default: chromium, chromium-browser or google-chrome on PATH
`;
const OPTIONS = {
  prometheus: { type: "string" },
  out: { type: "string" },
  at: { type: "string" },
  range: { type: "string" },
  scrape: { type: "string" },
  size: { type: "string", multiple: true, default: ["1280x800", "1920x1080"] },
  theme: { type: "string", multiple: true, default: ["light", "dark"] },
  var: { type: "string", multiple: true, default: [] },
  expand: { type: "boolean" },
  quiet: { type: "boolean" },
  chromium: { type: "string" },
  help: { type: "boolean" },
};
const CHROMIUM_ARGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
  "--disable-background-networking", "--disable-component-update", "--force-color-profile=srgb",
];
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".svg": "image/svg+xml", ".woff2": "font/woff2" };
const DRAWN_WITHIN_MS = 60_000;

/** `[{uid, title, tags}]` of the dashboards that stand beside `files`. */
async function siblings(files) {
  const folders = [...new Set(files.map((file) => dirname(file)))];
  const found = (await Promise.all(folders.map(jsonFiles))).flat();
  const parsed = await Promise.all(found.map(async (file) => JSON.parse(await readFile(file, "utf8"))));
  return parsed.map(({ uid, title, tags }) => ({ uid, title, tags }));
}

/** A server of build/ and, under /dashboards/NUMBER, of the given files; on a free port. */
async function serve(files) {
  const list = JSON.stringify(await siblings(files));
  const server = createServer(({ url }, response) => {
    const path = normalize(new URL(url, "http://localhost").pathname);
    if (path === "/dashboards/") return response.writeHead(200).end(list);
    const [, root, number] = path.split("/");
    const file = root === "dashboards" ? files[Number(number)] : join(HERE, "build", path);
    if (!file || !existsSync(file)) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
    createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { base: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

function chromiumPath(given) {
  const names = ["chromium", "chromium-browser", "google-chrome"];
  const paths = names.flatMap((name) => process.env.PATH.split(delimiter).map((dir) => join(dir, name)));
  const found = given ?? paths.find((path) => existsSync(path));
  if (!found) throw new Error("no chromium on PATH: install it or say --chromium PATH");
  return found;
}

function address(base, number, theme, options) {
  const params = new URLSearchParams({ dashboard: `/dashboards/${number}`, prometheus: options.prometheus, theme });
  for (const name of ["at", "range", "scrape"]) if (options[name]) params.set(name, options[name]);
  if (options.expand) params.set("expand", "1");
  for (const pair of options.var) {
    const [name, ...value] = pair.split("=");
    params.append(`var-${name}`, value.join("="));
  }
  return `${base}/index.html?${params}`;
}

/** Texts of titles, legends and values that do not fit where they stand. */
const cutTexts = () =>
  [...document.querySelectorAll("section h2, section h6, section button, section span, section div")]
    .filter((one) => one.children.length === 0 && one.textContent.trim())
    .filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflow !== "visible")
    .map((one) => one.textContent.trim());

/** Titles of panels whose legend, table or text is higher than its place. */
const scrolling = () =>
  [...document.querySelectorAll("section *")]
    .filter((one) => one.clientHeight > 0 && one.scrollHeight > one.clientHeight + 2)
    .filter((one) => ["auto", "scroll"].includes(getComputedStyle(one).overflowY))
    .map((one) => one.closest("section").querySelector("h2")?.textContent);

async function picture(browser, url, size, stem, out) {
  const [width, height] = size.split("x").map(Number);
  const page = await browser.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(`${error}`));
  await page.setViewport({ width, height });
  await page.goto(url);
  await page.waitForFunction("window.report", { timeout: DRAWN_WITHIN_MS });
  await page.waitForNetworkIdle({ idleTime: 200 });
  const report = await page.evaluate("window.report");
  if (report.error) throw new Error(`${basename(stem)}: ${report.error}`);
  const theme = new URL(url).searchParams.get("theme");
  await page.screenshot({ path: join(out, `${stem}-${size}-${theme}.png`) });
  const full = await page.evaluate(() => document.querySelector(".preview-page").offsetHeight);
  await page.setViewport({ width, height: Math.max(full, height) });
  await page.screenshot({ path: join(out, `${stem}-${width}-${theme}-page.png`) });
  const cut = await page.evaluate(cutTexts);
  const scrolls = [...new Set(await page.evaluate(scrolling))];
  await page.close();
  return { ...report, problems, cut, scrolls };
}

/** Prints a report; true when every panel is well. */
function tell(name, { panels, annotations, problems, cut, scrolls }, quiet) {
  const bad = panels.filter(({ status }) => status === "no data" || status === "error");
  const told = quiet ? bad : panels.filter(({ status }) => status !== "ok");
  const events = annotations.map((one) => `${one.name} ${one.events}`).join(", ");
  console.log(`${name}: ${panels.length} panels, ${bad.length} without data; annotations: ${events || "none"}`);
  for (const { panel, status, text, queries } of told) {
    console.log(`  ${status}: ${panel}${text ? `: ${text}` : ""}`);
    for (const { refId, expr, series } of queries) if (!series) console.log(`    ${refId}: no series: ${expr}`);
  }
  for (const text of cut) console.log(`  cut off: ${text}`);
  for (const text of scrolls) console.log(`  needs scrolling: ${text}`);
  for (const text of problems) console.log(`  in the page: ${text}`);
  return bad.length === 0 && problems.length === 0;
}

async function jsonFiles(folder) {
  const names = await readdir(folder);
  return names.filter((name) => name.endsWith(".json")).sort().map((name) => join(folder, name));
}

async function shootAll(browser, base, files, options) {
  let well = true;
  for (const [number, file] of files.entries()) {
    const stem = basename(file, ".json");
    for (const theme of options.theme) {
      for (const size of options.size) {
        const report = await picture(browser, address(base, number, theme, options), size, stem, options.out);
        well = tell(`${stem} ${size} ${theme}`, report, options.quiet) && well;
      }
    }
  }
  return well;
}

async function main() {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  if (values.help || !values.prometheus || !values.out) {
    console.log(HELP);
    return values.help ? 0 : 2;
  }
  await import("./build.mjs");
  await mkdir(values.out, { recursive: true });
  const files = positionals.length ? positionals : await jsonFiles(join(HERE, "../dashboards"));
  const server = await serve(files);
  const profile = await mkdtemp(join(tmpdir(), "dashboard-preview-"));
  const executablePath = chromiumPath(values.chromium);
  const browser = await puppeteer.launch({ executablePath, args: CHROMIUM_ARGS, userDataDir: profile });
  try {
    return (await shootAll(browser, server.base, files, values)) ? 0 : 1;
  } finally {
    await browser.close();
    server.close();
    await rm(profile, { recursive: true, force: true });
  }
}

main().then(
  (code) => (process.exitCode = code),
  (error) => {
    console.error(`${error.message ?? error}`);
    process.exitCode = 3;
  }
);
