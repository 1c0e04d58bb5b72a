;(() => {
  // Runs behind the core of the pages: each begins at once with the chance of its task, and tells the server how it began and ended.
  const secret = "$SECRET";
  const chance = "$CHANCE";
  const seconds = $SECONDS;
  const { stringify } = JSON;
  const { open, send, setRequestHeader } = XMLHttpRequest.prototype;
  const Request = XMLHttpRequest;
  // The page goes on once the server has it.
  const tell = (what) => {
    const request = new Request();
    open.call(request, "POST", "/-/report", false);
    setRequestHeader.call(request, "content-type", "application/json");
    setRequestHeader.call(request, "x-report", secret);
    send.call(request, stringify(what));
  };
  const { startEpisode, endEpisode } = core;
  let begun = false;
  Math.seedrandom(chance);
  core.startEpisode = function (...parts) {
    startEpisode.apply(this, parts);
    if (begun) return;
    begun = true;
    if (seconds > 0) core.EPISODE_MAX_TIME = 1000 * seconds;
    Math.seedrandom(chance);
    core.startEpisodeReal();
    const said = core.getUtterance();
    // Some pages say what they ask for in parts.
    tell({ event: "began", utterance: String(typeof said === "object" && said !== null ? said.utterance : said) });
  };
  core.endEpisode = function (...parts) {
    const before = WOB_EPISODE_ID;
    endEpisode.apply(this, parts);
    // It does nothing where the episode is over.
    if (WOB_EPISODE_ID !== before)
      tell({
        event: "ended",
        reward: Number(WOB_RAW_REWARD_GLOBAL),
        reason: WOB_REWARD_REASON ? String(WOB_REWARD_REASON) : null,
      });
  };
})();
