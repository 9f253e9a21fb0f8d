"use strict";
// Elements and their text. Recorded data only ever becomes text.

const find = (selector, within = document) => within.querySelector(selector);

const make = (tag, className = "", text = "") => {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== "") element.textContent = text;
  return element;
};

// Invisible characters, and those that change how others are displayed, are shown as JSON escapes.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

const shownAs = (sign) => (sign === "\t" ? "    " : "\\u" + sign.charCodeAt(0).toString(16).padStart(4, "0"));

const visible = (text) => text.replace(HIDDEN, shownAs);

const onOneLine = (text) => text.replace(/[\s\u0000-\u001f\u007f]+/g, " ").trim();

// Bytes in base64 that are not UTF-8: ASCII as it is, any other byte in hexadecimal digits.
const bytesAsText = (base64) => atob(base64).replace(/[^\n\x20-\x7e]/g,
  (sign) => `\\x${sign.charCodeAt(0).toString(16).padStart(2, "0")}`);

const seconds = (time) => time.toFixed(6);

const duration = (time) => {
  if (time < 0.001) return `${Math.round(time * 1e6)} µs`;
  if (time < 1) return `${(time * 1000).toPrecision(time < 0.1 ? 3 : 4)} ms`;
  return `${time.toFixed(time < 10 ? 3 : 1)} s`;
};

const number = (value) => value.toLocaleString("en");

const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

const size = (bytes) => {
  if (bytes < 10240) return `${number(bytes)} B`;
  const kibibytes = bytes / 1024;
  return kibibytes < 10240 ? `${number(Math.round(kibibytes))} KiB` : `${number(Math.round(kibibytes / 1024))} MiB`;
};

// Runs the job once before the next frame, however often it is requested.
const coalesce = (job) => {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      job();
    });
  };
};
