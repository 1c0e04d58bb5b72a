// Runs in a world of its own before every script of a page. The clipboard of a browser is one for all its sessions: what is copied is told to
// the server instead, which keeps it for the session and gives it back where one pastes.
(() => {
  const tell = self.$BINDING;
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
  const copy = (words) => void tell(JSON.stringify({ copied: words }));
  // Comes after every script of the page: one may have given other words, and then nothing is cut.
  const last = (event) => {
    const given = event.defaultPrevented;
    const words = given ? event.clipboardData.getData("text/plain") : selected();
    if (!given && words === "") return;
    copy(words);
    event.clipboardData.clearData();
    event.clipboardData.setData("text/plain", "");
    event.preventDefault();
    if (!given && event.type === "cut") document.execCommand("delete");
  };
  const first = (event) => {
    if (!event.isTrusted) return;
    removeEventListener(event.type, last);
    addEventListener(event.type, last, { once: true });
    // A script that lets nobody hear of it gets the words that are selected.
    const words = selected();
    if (words !== "") copy(words);
  };
  addEventListener("copy", first, true);
  addEventListener("cut", first, true);
  let target = null;
  const ask = (event) => {
    if (!event.isTrusted) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    target = event.composedPath()[0];
    tell(JSON.stringify({ pastes: true }));
  };
  addEventListener("paste", ask, true);
  self.$PASTE = (words) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", words);
    const event = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true, composed: true });
    if (!target?.isConnected || !target.dispatchEvent(event)) return;
    const isLine = deepest(document)?.tagName === "INPUT";
    document.execCommand("insertText", false, isLine ? words.replace(/\r?\n/g, " ") : words);
  };
})();
