// Runs in a world of its own before every script of a page. The clipboard of a browser is one for all its sessions, so nothing of them gets
// into it: what is copied is told to the server, which keeps it for the session and gives it back where one pastes. Scripts of the page get
// events of the same kinds from here.
(() => {
  const tell = (told) => self.$BINDING(JSON.stringify(told));
  const offer = (type, target, clipboardData) =>
    target.dispatchEvent(new ClipboardEvent(type, { clipboardData, bubbles: true, cancelable: true, composed: true }));
  const deepest = (root) => {
    const active = root.activeElement;
    return active?.shadowRoot ? deepest(active.shadowRoot) : active;
  };
  const selected = () => {
    const active = deepest(document);
    const isField = active && (active.tagName === "INPUT" || active.tagName === "TEXTAREA");
    if (!isField || active.selectionStart === null) return String(getSelection());
    return active.type === "password" ? "" : active.value.slice(active.selectionStart, active.selectionEnd);
  };
  // Takes an event of the browser from the page, and leaves nothing of it in the clipboard.
  const take = (event) => {
    event.stopImmediatePropagation();
    event.preventDefault();
    if (event.type !== "paste") event.clipboardData.setData("text/plain", "");
    return event.composedPath()[0];
  };
  const copy = (event) => {
    if (!event.isTrusted) return;
    const given = new DataTransfer();
    const isSelection = offer(event.type, take(event), given);
    const words = isSelection ? selected() : given.getData("text/plain");
    if (isSelection && words === "") return;
    tell({ copied: words.slice(0, $CHARACTERS_MAX) });
    // A command within another one is refused: it comes once that has ended.
    if (isSelection && event.type === "cut" && !document.execCommand("delete")) queueMicrotask(() => document.execCommand("delete"));
  };
  let target = null;
  const paste = (event) => {
    if (!event.isTrusted) return;
    target = take(event);
    tell({ pastes: true });
  };
  self.$PASTE = (words) => {
    const data = new DataTransfer();
    data.setData("text/plain", words);
    if (!target?.isConnected || !offer("paste", target, data)) return;
    const isLine = deepest(document)?.tagName === "INPUT";
    document.execCommand("insertText", false, isLine ? words.replace(/\r?\n/g, " ") : words);
  };
  const listen = () => {
    addEventListener("copy", copy, true);
    addEventListener("cut", copy, true);
    addEventListener("paste", paste, true);
  };
  listen();
  // A document that is written anew forgets who listened.
  new MutationObserver(listen).observe(document, { childList: true });
})();
