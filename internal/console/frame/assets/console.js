// Says so when the stream of the page is lost. Everything else works without this file.
(() => {
  const note = () => document.getElementById("lost");
  const set = (lost) => { const n = note(); if (n) n.hidden = !lost; };
  document.addEventListener("htmx:sse:error", () => set(true));
  document.addEventListener("htmx:sse:after:message", () => set(false));
})();
