const board = $("#board");
const ctx = board.getContext("2d");
const KEYS = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "w", "a", "s", "d", "W", "A", "S", "D"];
// Further than this, in pixels, the pointer drags.
const DRAG = 8;
let view = data;
let timer = null;
let pressed = null;
const PAINT = {
  box: ([left, top, width, height, colour]) => { ctx.fillStyle = colour; ctx.fillRect(left, top, width, height); },
  disc: ([x, y, radius, colour]) => { ctx.fillStyle = colour; ctx.beginPath(); ctx.arc(x, y, radius, 0, 7); ctx.fill(); },
  words: ([words, x, y, size, colour]) => {
    ctx.fillStyle = colour; ctx.font = `${size}px "DejaVu Sans", sans-serif`; ctx.textAlign = "center"; ctx.textBaseline = "middle";
    ctx.fillText(words, x, y);
  },
};
const show = () => {
  ctx.clearRect(0, 0, board.width, board.height);
  for (const shape of view.shapes) for (const [kind, parts] of Object.entries(shape)) PAINT[kind](parts);
  $("#words").replaceChildren(...view.words.map((line) => el("p", {}, line)));
  // Ticks lie at whole multiples of their time, so that a page that is loaded anew ticks as the one before.
  clearTimeout(timer);
  timer = view.tick_ms ? setTimeout(pass, view.tick_ms - (Date.now() % view.tick_ms), "tick") : null;
};
// Passes an input on and waits for the answer, so that inputs are taken in their order.
const pass = (input) => {
  const request = new XMLHttpRequest();
  request.open("POST", "/input", false);
  request.setRequestHeader("content-type", "application/json");
  request.send(JSON.stringify(input));
  if (request.status === 200) view = JSON.parse(request.responseText);
  show();
};
const at = (event) => {
  const box = board.getBoundingClientRect();
  return [Math.round(event.clientX - box.left), Math.round(event.clientY - box.top)];
};
document.addEventListener("keydown", (event) => {
  if (!KEYS.includes(event.key) || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  pass({ key: event.key });
});
board.addEventListener("contextmenu", (event) => event.preventDefault());
board.addEventListener("pointerdown", (event) => {
  pressed = at(event);
  if (event.button === 0) board.setPointerCapture(event.pointerId);
});
board.addEventListener("pointerup", (event) => {
  if (!pressed) return;
  const [from, to] = [pressed, at(event)];
  pressed = null;
  if (event.button === 2) pass({ click: { x: from[0], y: from[1], button: "right" } });
  else if (event.button === 0 && Math.hypot(to[0] - from[0], to[1] - from[1]) > DRAG) pass({ drag: { from, to } });
  else if (event.button === 0) pass({ click: { x: from[0], y: from[1], button: "left" } });
});
board.addEventListener("pointermove", (event) => {
  if (!view.follows_pointer) return;
  const [x, y] = at(event);
  pass({ move: { x, y } });
});
show();
