// A small core in the layout of MiniWoB++: names that its pages call, and nothing else of it.
var core = {};
var WOB_EPISODE_ID = 0;
var WOB_RAW_REWARD_GLOBAL = 0;
var WOB_REWARD_REASON = null;
core.EPISODE_MAX_TIME = 10000;
core.EP_TIMER = null;
core.cover = null;

// A sequence of 32 bits that follows from a text.
Math.seedrandom = function (text) {
  var state = 2166136261;
  for (var at = 0; at < text.length; at += 1) state = Math.imul(state ^ text.charCodeAt(at), 16777619);
  Math.random = function () {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
};

core.startEpisode = function () {
  if (!core.cover) {
    core.cover = document.createElement("div");
    core.cover.textContent = "START";
    core.cover.style = "position: fixed; inset: 0; background: white";
    core.cover.onclick = function () { core.startEpisodeReal(); };
    document.body.appendChild(core.cover);
  }
  core.cover.style.display = "block";
};

core.startEpisodeReal = function () {
  genProblem();
  core.cover.style.display = "none";
  core.EP_TIMER = setTimeout(function () { core.endEpisode(-1, false, "timed out"); }, core.EPISODE_MAX_TIME);
};

core.endEpisode = function (reward, proportional, reason) {
  if (core.EP_TIMER === null) return;
  clearTimeout(core.EP_TIMER);
  core.EP_TIMER = null;
  WOB_RAW_REWARD_GLOBAL = reward;
  WOB_REWARD_REASON = reason;
  WOB_EPISODE_ID += 1;
  core.startEpisode();
};

core.getUtterance = function () {
  return document.getElementById("query").textContent.trim();
};
