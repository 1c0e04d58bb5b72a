// The bar above a grid says what the cell at the pointer holds.
for (const table of document.querySelectorAll("table.grid")) {
  const bar = document.createElement("div");
  bar.className = "formula";
  const name = document.createElement("b");
  const text = document.createElement("output");
  name.textContent = "A1";
  bar.append(name, text);
  table.parentElement.before(bar);
  const show = (cell) => {
    if (!cell || cell.closest("thead")) return;
    name.textContent = `${String.fromCharCode(64 + cell.cellIndex)}${cell.parentElement.rowIndex}`;
    text.textContent = cell.textContent.trim();
  };
  show(table.querySelector("tbody th"));
  table.addEventListener("pointerover", (event) => show(event.target.closest("td,th")));
  table.addEventListener("focusin", (event) => show(event.target.closest("td,th")));
}
