/** The style of what the page draws beside Grafana's components, in the colours of `theme`. */
export const style = (theme) => `
  html, body { margin: 0; background: ${theme.colors.background.canvas}; overflow-x: hidden; }
  .preview-page { min-height: 100vh; }
  .preview-toolbar { display: flex; align-items: center; justify-content: space-between; gap: 16px;
    height: 40px; padding: 0 16px; background: ${theme.colors.background.primary};
    border-bottom: 1px solid ${theme.colors.border.weak}; }
  .preview-toolbar em { color: ${theme.colors.text.secondary}; font-size: 12px; }
  .preview-toolbar b { font-weight: 500; }
  .preview-controls { display: flex; flex-wrap: wrap; gap: 8px; padding: 8px 16px; }
  .preview-variable { display: flex; height: 32px; }
  .preview-variable label, .preview-variable span, .preview-button { display: flex;
    align-items: center; gap: 4px; padding: 0 8px; height: 30px; font-size: 12px; font-weight: 500;
    border: 1px solid ${theme.components.input.borderColor}; border-radius: 2px;
    background: ${theme.components.input.background}; }
  .preview-variable span { border-left: none; font-weight: 400; max-width: 260px; overflow: hidden;
    white-space: nowrap; text-overflow: ellipsis; }
  .preview-links { display: flex; gap: 8px; margin-left: auto; }
  .preview-grid { position: relative; margin: 0 16px 16px; }
  .preview-row { position: absolute; display: flex; align-items: center; gap: 6px; font-weight: 500; }
  .preview-row small { color: ${theme.colors.text.secondary}; }
  .preview-centered { display: flex; height: 100%; align-items: center; justify-content: center;
    color: ${theme.colors.text.secondary}; text-align: center; overflow: hidden; }
`;
