const parts = [];
for (let i = 0; i < 1 << 27; i++) parts.push({ number: i });
console.log(parts.length);
