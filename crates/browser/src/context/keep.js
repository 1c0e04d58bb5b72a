function () {
  const pairs = (storage) => Object.keys(storage).map((key) => [key, storage.getItem(key)]);
  let local = [], session = [];
  try { local = pairs(localStorage); session = pairs(sessionStorage); } catch { /* A frame without an origin stores nothing. */ }
  const entered = [];
  const visit = (root, way) => {
    [...root.children].forEach((element, at) => {
      const path = [...way, at];
      const kept = {};
      if (element.matches('input, textarea')) {
        if (element.type !== 'file' && element.value !== element.defaultValue) kept.value = element.value;
        if (element.checked !== element.defaultChecked) kept.checked = element.checked;
        if (element.indeterminate) kept.indeterminate = true;
      }
      if (element.matches('select') && [...element.options].some((option) => option.selected !== option.defaultSelected)) {
        kept.selected = [...element.options].map((option) => option.selected);
      }
      if (element.matches('details')) kept.open = element.open;
      if (element.matches('dialog')) { kept.open = element.open; kept.modal = element.matches(':modal'); }
      if (element.popover && element.matches(':popover-open')) kept.popover = true;
      if (element.isContentEditable && !element.parentElement?.isContentEditable) kept.html = element.innerHTML;
      if (element.scrollTop || element.scrollLeft) kept.scrolled = [element.scrollLeft, element.scrollTop];
      if (element === element.getRootNode().activeElement) {
        kept.focused = true;
        try { if (element.selectionStart !== null) kept.selection = [element.selectionStart, element.selectionEnd]; } catch { /* Not of this type. */ }
      }
      if (Object.keys(kept).length) entered.push([path, kept]);
      if (element.shadowRoot) visit(element.shadowRoot, [...path, 'shadow']);
      visit(element, path);
    });
  };
  visit(document, []);
  return { origin: location.origin, local, session, entered: { entered, scrolled: [scrollX, scrollY] } };
}
