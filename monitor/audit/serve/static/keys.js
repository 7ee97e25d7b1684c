// a agrees, c saves as ticked, n goes on: the same as the buttons, for whoever has many to read.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input:not([type=checkbox]), textarea, select")) return;
  const press = { a: 'button[value="agree"]', c: 'button[value="correct"]', n: "#next" }[event.key];
  const found = press && document.querySelector(press);
  if (found) {
    event.preventDefault();
    found.click();
  }
});
