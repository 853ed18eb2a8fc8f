// Elements from plain values.  Text is always text: nothing here, or elsewhere, parses markup.

/** element('button.small', { type: 'button', onclick }, 'Copy', child, ...) */
export function element(what, attributes = {}, ...children) {
  const [tag, ...classes] = what.split('.');
  const made = document.createElement(tag);
  if (classes.length) made.className = classes.join(' ');
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, '');
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

/** A button that stays pressed. */
export function toggle(label, pressed, change, attributes = {}) {
  const button = element('button', {
    type: 'button',
    'aria-pressed': String(pressed),
    onclick: () => set(button.getAttribute('aria-pressed') !== 'true'),
    ...attributes,
  });
  button.append(...[label].flat());
  const set = (now) => {
    button.setAttribute('aria-pressed', String(now));
    change(now);
  };
  return button;
}
