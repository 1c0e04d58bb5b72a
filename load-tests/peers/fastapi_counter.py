"""A counter as a plain FastAPI application: what a step costs without any framework for environments."""

from fastapi import FastAPI, WebSocket, WebSocketDisconnect
from pydantic import BaseModel

from announce import serve

application = FastAPI()
counts = {}


class Step(BaseModel):
    session: str
    amount: int


class Stepped(BaseModel):
    count: int
    reward: float
    done: bool


def act(step):
    counts[step.session] = counts.get(step.session, 0) + step.amount
    return Stepped(count=counts[step.session], reward=0.0, done=False)


@application.post("/step")
async def step(step: Step) -> Stepped:
    return act(step)


@application.websocket("/ws")
async def stream(socket: WebSocket):
    await socket.accept()
    try:
        while True:
            stepped = act(Step.model_validate_json(await socket.receive_text()))
            await socket.send_text(stepped.model_dump_json())
    except WebSocketDisconnect:
        pass


if __name__ == "__main__":
    serve(application)
