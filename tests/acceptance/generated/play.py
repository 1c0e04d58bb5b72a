"""Plays one episode of `bench/counter` with a generated client: play.py FOLDER URL KEY. Prints the verdict as JSON."""

import json
import re
import sys

sys.path.insert(0, sys.argv[1])

from palestra_client import AuthenticatedClient, models  # noqa: E402
from palestra_client.api.environments import get_environment, list_environments  # noqa: E402
from palestra_client.api.episodes import get_episode  # noqa: E402
from palestra_client.api.sessions import create_sessions, finish_session, step_session  # noqa: E402


def play(client):
    listed = list_environments.sync(client=client, family="bench")
    assert "bench/counter" in [row.name for row in listed.data], listed
    counter = get_environment.sync(client=client, family="bench", name="counter")
    assert [tool["function"]["name"] for tool in counter.tools] == ["add"], counter.tools
    body = models.CreateSession(environment="bench/counter", record=models.RecordMode.SYNC)
    opened = create_sessions.sync(client=client, body=body)
    target = int(re.search(r"exactly (\d+)", opened.messages[-1].content).group(1))
    for seq, amount in enumerate([target - 1, 1], 1):
        arguments = models.ActionToolArguments.from_dict({"amount": amount})
        body = models.Step(action=models.ActionTool(tool="add", arguments=arguments), seq=seq)
        answers = [step_session.sync(opened.id, client=client, body=body) for _ in range(2)]
        assert answers[0] == answers[1], f"a step that was sent twice was answered {answers}"
    missing = step_session.sync("ses_" + "0" * 32, client=client, body=body)
    assert isinstance(missing, models.Problem), missing
    finished = finish_session.sync(opened.id, client=client, body=models.Finish(reason=models.FinishReason.MAX_TURNS))
    stored = get_episode.sync(opened.episode, client=client)
    assert stored.verdict == finished.verdict, (stored, finished)
    return stored.verdict.to_dict()


print(json.dumps(play(AuthenticatedClient(base_url=sys.argv[2], token=sys.argv[3]))))
