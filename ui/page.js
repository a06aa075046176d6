import { h, render } from 'preact';
import { App } from './app.js';
import { PickerConnection } from './connection.js';

/** Draws the page into `root` and follows the picker. @param {HTMLElement} root */
export function startPage(root) {
  root.replaceChildren();
  let isDue = false;
  const draw = () => {
    isDue = false;
    render(h(App, { connection, state: connection.state, changed }), root);
  };
  /** Several changes within one frame are drawn once. */
  const changed = () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(draw);
  };
  const connection = new PickerConnection(changed);
  draw();
  void connection.run();
}
