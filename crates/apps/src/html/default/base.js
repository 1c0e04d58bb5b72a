// Small comforts. Everything works without them: all state is in the server.
(() => {
  "use strict";
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  // Dialogs that the server says are open become modal: focus stays in them, Escape presses their way out.
  for (const dialog of all("dialog[data-modal][open]")) {
    dialog.close();
    dialog.showModal();
    dialog.addEventListener("cancel", (event) => {
      const way = dialog.querySelector("[value$='/form-cancel'],[value$='/close-dialog']");
      if (way) { event.preventDefault(); way.click(); }
    });
  }
  // Filters apply themselves.
  for (const form of all("form[data-auto]")) {
    form.addEventListener("change", (event) => { if (event.target.matches("select,[type=date],[type=checkbox]")) form.requestSubmit(); });
  }
  // What takes something away is asked about first.
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-confirm]");
    if (!button || button.dataset.sure) return;
    event.preventDefault();
    const dialog = document.createElement("dialog");
    const text = document.createElement("p");
    text.id = "sure-text";
    text.textContent = button.dataset.confirm;
    dialog.setAttribute("aria-labelledby", "sure-text");
    const buttons = document.createElement("div");
    buttons.className = "buttons";
    const yes = document.createElement("button");
    yes.textContent = "Yes";
    const no = document.createElement("button");
    no.textContent = "No";
    no.className = "quiet";
    buttons.append(yes, no);
    dialog.append(text, buttons);
    document.body.append(dialog);
    yes.addEventListener("click", () => { button.dataset.sure = "1"; dialog.remove(); button.click(); });
    no.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => { dialog.remove(); button.focus(); });
    dialog.showModal();
  });
  // Hints before a form is sent: the server has the last word.
  for (const form of all("form.fields")) {
    form.addEventListener("submit", (event) => {
      if (/form-cancel$|-row$/.test(event.submitter?.value ?? "")) return;
      for (const input of all("[data-required],[data-kind]", form)) {
        const text = input.value.trim();
        const wrong = input.matches("[data-required]") && !text ? "Fill this in."
          : text && input.dataset.kind === "int" && !/^[-+]?\d+$/.test(text) ? "A whole number is needed."
          : text && input.dataset.kind === "decimal" && !/^[-+]?\d+([.]\d+)?$/.test(text) ? "An amount such as 12.50 is needed." : "";
        input.setCustomValidity(wrong);
        if (wrong) { event.preventDefault(); input.reportValidity(); input.addEventListener("input", () => input.setCustomValidity(""), { once: true }); return; }
      }
    });
  }
  // Dragging a row onto another one sends the form that its page has.
  let dragged = null;
  document.addEventListener("dragstart", (event) => { dragged = event.target.closest?.("[data-drag]"); });
  const target = (event) => dragged && event.target.closest?.(`[data-view="${dragged.dataset.onto}"][data-row]`);
  document.addEventListener("dragover", (event) => {
    const onto = target(event);
    all(".over-drop").forEach((old) => old.classList.remove("over-drop"));
    if (onto) { event.preventDefault(); onto.classList.add("over-drop"); }
  });
  document.addEventListener("drop", (event) => {
    const onto = target(event);
    if (!onto) return;
    event.preventDefault();
    const form = document.createElement("form");
    form.method = "post";
    form.action = dragged.dataset.drag;
    const { open, field, then } = dragged.dataset;
    for (const [name, value] of [["open", open], [field, onto.dataset.row], ["element", `${open}/form-submit`], ["then", then]]) {
      const input = document.createElement("input");
      input.type = "hidden";
      input.name = name;
      input.value = value;
      form.append(input);
    }
    document.body.append(form);
    form.submit();
  });
  // What an input offers is found by any of its words, and taken by a click or a key.
  const OFFERED = 8;
  for (const input of all("input[data-suggest]")) {
    const values = [...(document.getElementById(`${input.id}-values`)?.options ?? [])].map(({ value, text }) => ({ value, label: text }));
    const list = document.createElement("ul");
    list.id = `${input.id}-list`;
    list.className = "offers";
    list.role = "listbox";
    list.ariaLabel = "Suggestions";
    list.hidden = true;
    input.after(list);
    // A search box stays one, for those who look for it.
    const isSearch = input.type === "search";
    if (!isSearch) input.role = "combobox";
    input.setAttribute("aria-autocomplete", "list");
    input.setAttribute("aria-controls", list.id);
    let at = -1;
    const show = (open) => {
      list.hidden = !open;
      if (!isSearch) input.ariaExpanded = String(open);
      if (!open) { at = -1; input.removeAttribute("aria-activedescendant"); }
    };
    const mark = (place) => {
      at = place;
      [...list.children].forEach((item, other) => { item.ariaSelected = String(other === at); });
      input.setAttribute("aria-activedescendant", list.children[at].id);
    };
    const take = (item) => {
      input.value = item.dataset.value;
      show(false);
      input.dispatchEvent(new Event("change", { bubbles: true }));
    };
    const offer = () => {
      const words = input.value.trim().toLowerCase();
      const fits = ({ value, label }) => value !== input.value && `${label} ${value}`.toLowerCase().includes(words);
      const found = words ? values.filter(fits).slice(0, OFFERED) : [];
      list.replaceChildren(...found.map(({ value, label }, place) => {
        const item = document.createElement("li");
        item.id = `${list.id}-${place}`;
        item.role = "option";
        item.dataset.value = value;
        item.textContent = label ? `${label} · ${value}` : value;
        item.addEventListener("mousedown", (event) => event.preventDefault());
        item.addEventListener("click", () => take(item));
        return item;
      }));
      show(found.length > 0);
    };
    show(false);
    input.addEventListener("input", offer);
    input.addEventListener("blur", () => show(false));
    input.addEventListener("keydown", (event) => {
      const count = list.children.length;
      if (list.hidden || !count) return;
      if (event.key === "ArrowDown") mark((at + 1) % count);
      else if (event.key === "ArrowUp") mark(at < 1 ? count - 1 : at - 1);
      else if (event.key === "Enter" && at >= 0) take(list.children[at]);
      else if (event.key === "Escape") show(false);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }
  // An endless list goes on as one comes near its end. The address says how far: Back and reload find the same rows.
  const NEAR = 300;
  let asking = false;
  const grow = async () => {
    const link = document.querySelector("a[data-grow]");
    if (asking || !link || link.getBoundingClientRect().top > innerHeight + NEAR) return;
    asking = true;
    try {
      const answer = await fetch(link.href);
      const list = link.closest("[data-endless]");
      const found = new DOMParser().parseFromString(await answer.text(), "text/html");
      const longer = all("[data-endless]", found).find((other) => other.dataset.endless === list.dataset.endless);
      if (!longer) throw new Error("the list is gone");
      list.querySelector("#more")?.removeAttribute("id");
      const rowsOf = (root) => all("ul.rows,ul.cards,ul.tiles", root);
      const lists = rowsOf(list);
      rowsOf(longer).forEach((rows, place) => {
        const known = lists[place];
        if (known) known.append(...[...rows.children].slice(known.children.length));
        else list.lastElementChild.before(rows.closest("section.day") ?? rows);
      });
      list.lastElementChild.replaceWith(longer.lastElementChild);
      // What is done at a row leads back to here.
      const then = longer.querySelector("[name=then]")?.value;
      if (then) {
        all("[name=then]", list).forEach((input) => { input.value = then; });
        all("[data-then]", list).forEach((row) => { row.dataset.then = then; });
      }
      history.replaceState(history.state, "", answer.url);
      asking = false;
    } catch { link.removeAttribute("data-grow"); /* It is there to be followed. */ }
  };
  addEventListener("scroll", grow, { capture: true, passive: true });
  // Where rows do not come by themselves, one goes on at the first new one.
  addEventListener("click", (event) => {
    const link = event.target.closest?.("[data-endless] a[rel=next]");
    if (link) link.hash = "more";
  });
  // The key / goes to the search box, j and k go along the rows.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input,textarea,select,dialog")) return;
    if (event.key === "/") {
      const box = document.querySelector("[data-key='/'],main [type=search]");
      if (box) { event.preventDefault(); box.focus(); }
    }
    if (event.key === "j" || event.key === "k") {
      const rows = all("main .row-link");
      const at = rows.indexOf(document.activeElement);
      rows[Math.max(0, Math.min(rows.length - 1, at + (event.key === "j" ? 1 : -1)))]?.focus();
    }
  });
  // A closed task bar stays closed.
  for (const details of all("details[data-keep]")) {
    try {
      if (sessionStorage.getItem(details.dataset.keep) === "closed") details.open = false;
      details.addEventListener("toggle", () => sessionStorage.setItem(details.dataset.keep, details.open ? "open" : "closed"));
    } catch { /* There is no storage in a closed frame. */ }
  }
})();
