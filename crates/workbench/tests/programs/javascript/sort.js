const words = require("fs").readFileSync(0, "utf8").split(/\s+/).filter(Boolean).map(Number);
console.log(words.slice(1).sort((a, b) => a - b).join("\n"));
