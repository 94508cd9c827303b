// Has the server check a form while somebody fills it in, and shows what it says at the fields
// that were touched. It changes nothing, and everything works without this file.
(() => {
  const form = document.querySelector("form[data-check]");
  const cost = document.getElementById("cost");
  if (!form || !cost) return;
  const touched = new Set();
  let timer, asking;

  const wrong = (name, text) => {
    const field = form.elements.namedItem(name);
    const note = document.getElementById("e-" + name);
    if (!field || !note) return;
    note.firstElementChild.textContent = text;
    note.hidden = !text;
    field.closest(".field").classList.toggle("wrong", text !== "");
    if (text) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  };

  const say = (lines, over) => {
    cost.classList.toggle("over", over);
    cost.replaceChildren(...lines.map((line) => {
      const p = document.createElement("p");
      p.textContent = line;
      return p;
    }));
  };

  const check = async () => {
    asking?.abort();
    const mine = asking = new AbortController();
    const body = new URLSearchParams(new FormData(form));
    body.set("do", "check");
    try {
      const answer = await fetch(form.getAttribute("action"), {
        method: "POST", body, headers: { Accept: "application/json" }, signal: mine.signal,
      });
      if (answer.status === 401) say([form.dataset.ended], true);
      if (!answer.ok) return;
      const said = await answer.json();
      if (mine.signal.aborted) return;
      for (const name of touched) wrong(name, said.wrong[name] ?? "");
      say(said.cost ?? [], said.over);
    } catch {
      // Who sends the form is told what is wrong.
    }
  };

  form.addEventListener("input", (event) => {
    if (!event.target.name) return;
    touched.add(event.target.name);
    clearTimeout(timer);
    timer = setTimeout(check, 300);
  });
  form.addEventListener("submit", () => { clearTimeout(timer); asking?.abort(); });
})();
