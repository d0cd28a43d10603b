# Slash Agent for macOS and Windows: docs/container.md has the one `docker run` line.
# Bookworm's git and bubblewrap are new enough; without user namespaces, as in most containers, the sandbox is Landlock.
FROM python:3.13-slim-bookworm
RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap git \
 && rm -rf /var/lib/apt/lists/*
COPY . /opt/slash-agent
RUN python3 /opt/slash-agent/.github/action/install.py /opt/slash-agent-venv --extras checkers
# Any user may run it: what it keeps goes to a folder that everybody can write, in a volume if it has to stay.
ENV HOME=/home/agent
RUN mkdir -m 1777 /home/agent
WORKDIR /repo
ENTRYPOINT ["/opt/slash-agent-venv/bin/python", "-P", "-m", "bot"]
