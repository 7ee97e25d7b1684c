// The numbers of now come again every 15 seconds, unless somebody reads them just then. Without it
// the page is as true, and as old as its last load.
setInterval(async () => {
  const old = document.getElementById("live");
  if (document.hidden || old.querySelector("details[open]") || old.contains(document.activeElement)) return;
  const answer = await fetch("/").catch(() => null);
  if (!answer || !answer.ok || answer.redirected) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const found = page.getElementById("live");
  if (found) old.replaceWith(found);
}, 15000);
