"use strict";
/* Keys, copying and focus. Every page works without this file. */
(() => {
  const SWITCH = "memory-bank-keys";
  const find = (query) => document.querySelector(query);
  const isOn = () => localStorage.getItem(SWITCH) !== "off";

  const keys = find("#keys");
  const toggle = find("#keys-on");
  toggle.checked = isOn();
  toggle.addEventListener("change", () => {
    localStorage.setItem(SWITCH, toggle.checked ? "on" : "off");
  });

  const step = (by) => {
    const links = [...document.querySelectorAll("[data-row] a[href]")];
    const firsts = links.filter((link) => link.closest("[data-row]").querySelector("a[href]") === link);
    const at = firsts.findIndex((link) => link.closest("[data-row]").contains(document.activeElement));
    const next = firsts[Math.min(Math.max(at + by, 0), firsts.length - 1)];
    if (next) next.focus();
  };
  const go = (sequence) => {
    const link = find(`a[data-key="${sequence}"]`);
    if (link) link.click();
  };
  // Of a row, only the one with the focus is acted on; else nothing happens unseen.
  const undo = () => {
    const row = document.activeElement.closest("[data-row]");
    const wanted = (row && row.querySelector("[data-key=u]")) || find("[data-key=u]");
    if (!wanted) return;
    if (wanted.matches("a") || (row && row.contains(wanted))) wanted.click();
    else wanted.focus();
  };
  const actions = {
    "/": () => { const field = find("[data-filter]") || find(".find input"); if (field) field.focus(); },
    "j": () => step(1),
    "k": () => step(-1),
    "u": () => undo(),
    "?": () => keys.showModal(),
  };

  let pending = "";
  document.addEventListener("keydown", (event) => {
    const inField = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.ctrlKey || event.metaKey || event.altKey || inField) { pending = ""; return; }
    if (find("dialog[open]") || (!isOn() && event.key !== "?")) return;
    if (pending === "g") {
      pending = "";
      if (/^[a-z]$/.test(event.key)) go(`g ${event.key}`);
    } else if (event.key === "g") {
      pending = "g";
    } else if (Object.hasOwn(actions, event.key)) {
      event.preventDefault();
      actions[event.key]();
    }
  });

  // What needs this file is hidden until it runs.
  const offer = () => {
    const copies = navigator.clipboard ? "[data-copy], [data-text], " : "";
    for (const each of document.querySelectorAll(`${copies}[data-all], [data-scripted]`)) each.hidden = false;
  };
  offer();
  const turn = (button, from, to) => {
    const use = button.querySelector("use");
    if (use) use.setAttribute("href", use.getAttribute("href").replace(`#${from}`, `#${to}`));
  };
  document.addEventListener("click", async ({ target }) => {
    const button = target.closest("[data-copy], [data-text]");
    if (!button) return;
    const { copy, text } = button.dataset;
    await navigator.clipboard.writeText(copy ? document.getElementById(copy).textContent : text);
    const told = find("#copied");
    told.textContent = told.dataset.copied;
    turn(button, "copy", "check");
    setTimeout(() => { turn(button, "check", "copy"); told.textContent = ""; }, 2000);
  });
  // A question opens above the page it is about; without an answer, its own page opens.
  let isAsking = false;
  const ask = async (link) => {
    if (isAsking) return;
    isAsking = true;
    const answer = await fetch(link.href, { headers: { Accept: "text/html" } }).catch(() => null);
    const whole = answer && answer.ok && !answer.redirected ? await answer.text() : "";
    const asked = new DOMParser().parseFromString(whole, "text/html").querySelector("main .ask");
    isAsking = Boolean(asked);
    if (!asked) { location.assign(link.href); return; }
    const dialog = document.createElement("dialog");
    dialog.setAttribute("aria-labelledby", "ask");
    dialog.append(document.adoptNode(asked));
    dialog.addEventListener("close", () => { dialog.remove(); isAsking = false; });
    document.body.append(dialog);
    offer();
    dialog.showModal();
    (dialog.querySelector("input:not([type=hidden])") || dialog.querySelector("footer a")).focus();
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-ask], dialog > .ask > footer a, [data-close]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const dialog = link.closest("dialog");
    if (link.matches("[data-ask]")) ask(link);
    else if (dialog) dialog.close();
    else link.closest(".flash").remove();
  });
  // The fields of a filter lie above its results: whatever is pressed beside them closes them.
  document.addEventListener("click", ({ target }) => {
    const open = find(".filter details[open]");
    if (open && !open.contains(target)) open.open = false;
  });
  document.addEventListener("keydown", (event) => {
    const open = event.key === "Escape" && find(".filter details[open]");
    if (!open) return;
    open.open = false;
    open.querySelector("summary").focus();
  });

  // On the document, since filters replace the rows.
  document.addEventListener("change", ({ target }) => {
    const all = target.matches("[data-all]") ? target : null;
    const form = target.form;
    if (!form) return;
    const boxes = [...form.querySelectorAll("[type=checkbox][name]")];
    if (all) for (const box of boxes) box.checked = all.checked;
    else if (boxes.includes(target)) {
      const head = form.querySelector("[data-all]");
      if (head) head.checked = boxes.every((box) => box.checked);
    }
  });

  // What had the focus in a part that is replaced is found again by its id or its content; if it
  // is gone, the new part has the focus.
  let above = [];
  const remember = () => {
    above = [];
    for (let one = document.activeElement; one && one !== document.body; one = one.parentElement) above.push(one);
  };
  const refocus = () => {
    const [last] = above;
    if (!last || last.isConnected || document.activeElement !== document.body) return;
    const part = above.map((one) => one.id && document.getElementById(one.id)).find(Boolean);
    if (!part) return;
    const same = [...part.querySelectorAll(last.localName)].find((one) => one.isEqualNode(last));
    if (!same && part.tabIndex < 0) part.setAttribute("tabindex", "-1");
    (same || part).focus({ preventScroll: true });
  };
  // A fault arrives without its field, which is marked here.
  const mark = (field, fault) => {
    if (!field) return;
    if (!fault || fault.hidden) { field.removeAttribute("aria-invalid"); return; }
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-describedby", [...new Set([...(field.getAttribute("aria-describedby") || "").split(" "), fault.id])].join(" ").trim());
  };
  const markAll = () => {
    for (const fault of document.querySelectorAll("[id^=fault-]")) mark(document.getElementById(fault.id.slice(6)), fault);
    mark(find("[data-filter]"), find("#results #fault"));
  };
  document.addEventListener("htmx:before:request", (event) => {
    if (event.target.id === "live" && (document.hidden || find("#live :checked"))) event.preventDefault();
  });
  document.addEventListener("htmx:before:swap", remember);
  document.addEventListener("htmx:after:swap", () => { offer(); markAll(); refocus(); });
  const fault = find("[aria-invalid=true], [role=alert]:not([hidden])");
  if (fault) { fault.setAttribute("tabindex", fault.matches("input, textarea") ? "0" : "-1"); fault.focus(); }
})();
