"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
// Makes an element: el("button", {class: "plain", onclick: f}, "Text", other).
const el = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== null));
  return made;
};
// Two digits of a number.
const two = (number) => String(number).padStart(2, "0");
const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
// Sends what was entered, once; the server judges it.
const send = (state) => {
  const form = el("form", { method: "post", action: "/submit", hidden: true });
  form.append(el("input", { name: "state", value: JSON.stringify(state) }));
  document.body.append(form);
  form.submit();
};
