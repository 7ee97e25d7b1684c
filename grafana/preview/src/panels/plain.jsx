// Tables and texts.
import { getFieldDisplayName, renderTextPanelMarkdown } from "@grafana/data";
import { Table } from "@grafana/ui";

export function TablePanel({ panel, data, width, height, range }) {
  const frame = data.frames[panel.options.frameIndex ?? 0];
  if (!frame) return null;
  const initialSortBy = (panel.options.sortBy ?? []).map((one) => one);
  return (
    <Table
      data={frame}
      width={width}
      height={height}
      noHeader={panel.options.showHeader === false}
      cellHeight={panel.options.cellHeight}
      initialSortBy={initialSortBy}
      footerOptions={panel.options.footer?.show ? panel.options.footer : undefined}
      resizable={false}
      showTypeIcons={false}
      timeRange={range}
      fieldConfig={panel.fieldConfig}
      enableSharedCrosshair={false}
    />
  );
}

/** Names of columns, for the report. */
export const columns = (frame) => frame.fields.map((field) => getFieldDisplayName(field, frame));

export function TextPanel({ panel, data }) {
  const text = data.replaceVariables(panel.options.content ?? "");
  const html = panel.options.mode === "html" ? text : renderTextPanelMarkdown(text);
  return <div className="markdown-html" dangerouslySetInnerHTML={{ __html: html }} />;
}
