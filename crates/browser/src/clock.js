// Runs before every script of a page: time stands still but for the server's advances, and chance follows from a seed.
(() => {
  const KEY = "$KEY";
  let now = $NOW;
  const origin = now;
  const real = { MessageChannel, Promise, setTimeout, frame: self.requestAnimationFrame };
  const timers = new Map();
  let last = 0;
  let seed = $SEED >>> 0;
  // Mulberry32, 32 bits of state.
  const word = () => {
    seed = (seed + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), seed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const define = (target, name, value) =>
    Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
  define(Math, "random", function random() {
    // 53 bits, as doubles have.
    return ((word() >>> 5) * 67108864 + (word() >>> 6)) / 9007199254740992;
  });
  if (self.Crypto) {
    const fill = function getRandomValues(array) {
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      for (let at = 0; at < bytes.length; at += 1) bytes[at] = word() & 255;
      return array;
    };
    define(Crypto.prototype, "getRandomValues", fill);
    define(Crypto.prototype, "randomUUID", function randomUUID() {
      const bytes = fill(new Uint8Array(16));
      bytes[6] = (bytes[6] & 15) | 64;
      bytes[8] = (bytes[8] & 63) | 128;
      const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
      return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
    });
  }
  class VirtualDate extends Date {
    constructor(...parts) {
      super(...(parts.length === 0 ? [now] : parts));
    }
    static now() {
      return Math.floor(now);
    }
  }
  const Callable = new Proxy(VirtualDate, { apply: () => new VirtualDate().toString() });
  Object.defineProperty(VirtualDate, "name", { value: "Date" });
  VirtualDate.prototype.constructor = Callable;
  define(self, "Date", Callable);
  const { format, formatToParts } = {
    format: Object.getOwnPropertyDescriptor(Intl.DateTimeFormat.prototype, "format").get,
    formatToParts: Intl.DateTimeFormat.prototype.formatToParts,
  };
  Object.defineProperty(Intl.DateTimeFormat.prototype, "format", {
    configurable: true,
    get() {
      const bound = format.call(this);
      return (date) => bound(date === undefined ? now : date);
    },
  });
  define(Intl.DateTimeFormat.prototype, "formatToParts", function (date) {
    return formatToParts.call(this, date === undefined ? now : date);
  });
  define(Performance.prototype, "now", () => now - origin);
  Object.defineProperty(Performance.prototype, "timeOrigin", { configurable: true, get: () => origin });
  const call = (run, parts) => {
    try {
      typeof run === "function" ? run.apply(self, parts) : (0, eval)(String(run));
    } catch (error) {
      self.reportError ? self.reportError(error) : undefined;
    }
  };
  const add = (run, delay, parts, every) => {
    last += 1;
    const wait = Math.max(Number(delay) || 0, every ? 1 : 0);
    timers.set(last, { at: now + wait, order: last, run, parts, every: every ? wait : undefined });
    return last;
  };
  define(self, "setTimeout", function setTimeout(run, delay, ...parts) {
    return add(run, delay, parts, false);
  });
  define(self, "setInterval", function setInterval(run, delay, ...parts) {
    return add(run, delay, parts, true);
  });
  const remove = (id) => void timers.delete(id);
  define(self, "clearTimeout", remove);
  define(self, "clearInterval", remove);
  define(self, "requestAnimationFrame", function requestAnimationFrame(run) {
    return add(() => run(now - origin), 1000 / 60 - ((now - origin) % (1000 / 60)), [], false);
  });
  define(self, "cancelAnimationFrame", remove);
  define(self, "requestIdleCallback", function requestIdleCallback(run) {
    return add(() => run({ didTimeout: false, timeRemaining: () => 50 }), 1, [], false);
  });
  define(self, "cancelIdleCallback", remove);
  // Whatever the page has queued runs between two timers.
  const breathe = () =>
    new real.Promise((resolve) => {
      const channel = new real.MessageChannel();
      channel.port1.onmessage = () => {
        channel.port1.close();
        resolve();
      };
      channel.port2.postMessage(0);
    });
  // What the page looks like follows what its scripts did: scrolling, sizes, and who watches them. Once what follows the next frame runs,
  // that frame is drawn. A tab behind others is not drawn.
  const draw = () =>
    new real.Promise((resolve) => {
      const isDrawn = self === self.top && document.visibilityState === "visible";
      real.setTimeout.call(self, resolve, isDrawn ? 2000 : 100);
      if (real.frame) real.frame.call(self, () => void breathe().then(resolve));
    });
  const due = (end) => {
    let next;
    for (const [id, timer] of timers) {
      if (timer.at <= end && (!next || timer.at < next.timer.at || (timer.at === next.timer.at && timer.order < next.timer.order)))
        next = { id, timer };
    }
    return next;
  };
  // Moves the clock, running at most so many timers; resolves to the time and to how many ran. A frame takes as long as the screen
  // takes, so none is waited for where one follows at once.
  const advance = async (milliseconds, timersMax, drawn = true) => {
    const end = now + milliseconds;
    let ran = 0;
    if (drawn) await draw();
    await breathe();
    for (let next = due(end); next; next = due(end)) {
      if (ran >= timersMax) break;
      ran += 1;
      now = Math.max(now, next.timer.at);
      if (next.timer.every === undefined) timers.delete(next.id);
      else {
        last += 1;
        next.timer.at = now + next.timer.every;
        next.timer.order = last;
      }
      call(next.timer.run, next.timer.parts);
      await breathe();
    }
    now = end;
    if (drawn && ran > 0) await draw();
    return { now, ran };
  };
  const advanceTo = (time, timersMax) => advance(Math.max(0, time - now), timersMax);
  Object.defineProperty(self, KEY, { value: Object.freeze({ advance, advanceTo }), enumerable: false });
})();
