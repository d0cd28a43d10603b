"""What a workflow run of a task leaves on GitHub: its job and its bundle."""

import io
import zipfile

from tests.support.stage import Stage


def add_task_run(stage: Stage, task: str) -> int:
    """Add a scheduled run with the job of the task and the stage's bundle; return its number."""
    workflow = ".github/workflows/maintenance.yml"
    number = stage.forge.add_run(stage.repo, workflow=workflow, name="m", event="schedule")
    stage.forge.add_job(stage.repo, number, f"maintain / Run {stage.repo}: {task}")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for file in stage.bundle.iterdir():
            archive.write(file, file.name)
    name = f"slash-agent-bundle-{stage.repo.replace('/', '.')}.{task}"
    stage.forge.add_artifact(stage.repo, number, name, packed.getvalue())
    return number
