function ({ entered, scrolled }) {
  const find = (path) => path.reduce((node, step) => (step === 'shadow' ? node?.shadowRoot : node?.children[step]), document);
  let focused = null;
  for (const [path, kept] of entered) {
    const element = find(path);
    if (!element) continue;
    if (kept.open !== undefined && element.matches('details')) element.open = kept.open;
    if (element.matches('dialog') && (kept.open !== element.open || kept.modal !== element.matches(':modal'))) {
      if (element.open) element.close();
      if (kept.open && kept.modal) element.showModal();
      else if (kept.open) element.show();
    }
    if (kept.popover && !element.matches(':popover-open')) element.showPopover?.();
    if (kept.html !== undefined) element.innerHTML = kept.html;
    if (kept.value !== undefined) element.value = kept.value;
    if (kept.checked !== undefined) element.checked = kept.checked;
    if (kept.indeterminate) element.indeterminate = true;
    if (kept.selected) [...element.options].forEach((option, at) => { option.selected = kept.selected[at] ?? false; });
    if (kept.focused) focused = [element, kept];
  }
  if (focused) {
    focused[0].focus({ preventScroll: true });
    try { if (focused[1].selection) focused[0].setSelectionRange(...focused[1].selection); } catch { /* Not of this type. */ }
  } else if (document.activeElement !== document.body) document.activeElement?.blur();
  for (const [path, kept] of entered) if (kept.scrolled) find(path)?.scrollTo({ left: kept.scrolled[0], top: kept.scrolled[1], behavior: 'instant' });
  scrollTo({ left: scrolled[0], top: scrolled[1], behavior: 'instant' });
  return {};
}
