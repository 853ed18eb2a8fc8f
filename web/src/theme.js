// Light or dark: as the system has it, or as chosen by the switch.  Paper is always light.
import { element } from './dom.js';

const KEY = 'stair-theme';
const NAMES = ['auto', 'light', 'dark'];

function kept() {
  try {
    return localStorage.getItem(KEY) || 'auto';
  } catch {
    return 'auto'; // pages from files may have no storage
  }
}

function apply(name) {
  if (name === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
}

/** The switch; `changed` is called whenever colours are others. */
export function themeSwitch(changed) {
  let now = NAMES.includes(kept()) ? kept() : 'auto';
  const button = element('button.theme', {
    type: 'button',
    title: 'Light, dark, or as the system has it',
    onclick: () => {
      now = NAMES[(NAMES.indexOf(now) + 1) % NAMES.length];
      try {
        localStorage.setItem(KEY, now);
      } catch {
        // the choice lasts as long as the page
      }
      show();
    },
  });
  const show = () => {
    apply(now);
    button.textContent = `theme: ${now}`;
    changed();
  };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
  addEventListener('beforeprint', () => {
    apply('light');
    changed();
  });
  addEventListener('afterprint', show);
  show();
  return button;
}
