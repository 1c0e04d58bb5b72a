const board = $("#board");
const ctx = board.getContext("2d");
const COLOURS = { red: "#cf2f2f", blue: "#2460cc", green: "#2b8a3e", orange: "#ee8a11", purple: "#8a3ab9", black: "#1c2430", grey: "#aab3bf", white: "#fff" };
// The place of an event on the canvas.
const at = (event) => { const box = board.getBoundingClientRect(); return [Math.round(event.clientX - box.left), Math.round(event.clientY - box.top)]; };
const wipe = () => ctx.clearRect(0, 0, board.width, board.height);
const words = (text, x, y, size = 16, colour = "black") => {
  ctx.fillStyle = COLOURS[colour]; ctx.font = `${size}px "DejaVu Sans", sans-serif`; ctx.textAlign = "center"; ctx.textBaseline = "middle";
  ctx.fillText(text, x, y);
};
const line = (points, colour = "black", width = 3) => {
  ctx.strokeStyle = COLOURS[colour]; ctx.lineWidth = width; ctx.lineCap = "round"; ctx.lineJoin = "round";
  ctx.beginPath(); points.forEach(([x, y], at) => (at ? ctx.lineTo(x, y) : ctx.moveTo(x, y))); ctx.stroke();
};
const dot = (x, y, radius, colour) => { ctx.fillStyle = COLOURS[colour]; ctx.beginPath(); ctx.arc(x, y, radius, 0, 7); ctx.fill(); };
const box = (x, y, width, height, colour) => { ctx.fillStyle = COLOURS[colour]; ctx.fillRect(x, y, width, height); };
// Draws a shape; half is half of its width, turn is in degrees.
const shape = ({ kind, colour, x, y, half, turn = 0 }) => {
  const corners = { square: [[-1, -1], [1, -1], [1, 1], [-1, 1]], triangle: [[0, -1], [1, 0.9], [-1, 0.9]], diamond: [[0, -1.1], [0.8, 0], [0, 1.1], [-0.8, 0]],
    arrow: [[-1, -0.3], [0.1, -0.3], [0.1, -0.8], [1, 0], [0.1, 0.8], [0.1, 0.3], [-1, 0.3]], ell: [[-0.6, -1], [-0.1, -1], [-0.1, 0.5], [0.7, 0.5], [0.7, 1], [-0.6, 1]],
    flipped: [[0.6, -1], [0.1, -1], [0.1, 0.5], [-0.7, 0.5], [-0.7, 1], [0.6, 1]] }[kind];
  if (!corners) { dot(x, y, half, colour); return; }
  ctx.save(); ctx.translate(x, y); ctx.rotate((turn * Math.PI) / 180); ctx.beginPath();
  corners.forEach(([across, down]) => ctx.lineTo(across * half, down * half));
  ctx.closePath(); ctx.fillStyle = COLOURS[colour]; ctx.fill(); ctx.restore();
};
const ring = (x, y, half) => { ctx.strokeStyle = COLOURS.black; ctx.lineWidth = 3; ctx.strokeRect(x - half - 6, y - half - 6, 2 * half + 12, 2 * half + 12); };
