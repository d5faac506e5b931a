"""An MLflow server for a team, as a compose file: PostgreSQL behind it, artifacts in S3, a password before it.

No secret stands in the file: it names variables, which `.env` beside it holds (docs/cluster.md).
They reach the processes by their environment, so that no process list shows them.
"""

from __future__ import annotations

import importlib.metadata
from urllib.parse import urlsplit

from cluster.description import Cluster

TEMPLATE = """\
# Written by `stockpot cluster render compose`. Needs a file .env beside it, readable by its owner only:
#   POSTGRES_PASSWORD, S3_ACCESS_KEY, S3_SECRET_KEY, MLFLOW_ADMIN_PASSWORD (12 characters or more), MLFLOW_SECRET_KEY
# Start: docker compose up -d --wait      It listens on loopback unless .env sets MLFLOW_LISTEN.
name: {name}-mlflow
services:
  postgres:
    image: postgres:17
    restart: unless-stopped
    environment:
      POSTGRES_USER: mlflow
      POSTGRES_DB: mlflow
      POSTGRES_PASSWORD: ${{POSTGRES_PASSWORD:?set it in .env}}
    volumes: [postgres:/var/lib/postgresql/data]
    healthcheck: {{test: [CMD-SHELL, pg_isready -U mlflow], interval: 5s, timeout: 5s, retries: 20}}
    networks: [inside]
  s3:
    image: minio/minio:RELEASE.2025-04-22T22-12-26Z  # any S3-compatible store will do
    restart: unless-stopped
    command: [server, /data]
    environment:
      MINIO_ROOT_USER: ${{S3_ACCESS_KEY:?set it in .env}}
      MINIO_ROOT_PASSWORD: ${{S3_SECRET_KEY:?set it in .env}}
    volumes: [artifacts:/data]
    healthcheck: {{test: [CMD, mc, ready, local], interval: 5s, timeout: 5s, retries: 20}}
    networks: [inside]
  mlflow:
    build:
      dockerfile_inline: |
        FROM python:{python}-slim
        RUN pip install --no-cache-dir 'mlflow[auth]=={mlflow}' 'psycopg[binary]' boto3
        WORKDIR /mlflow
    restart: unless-stopped
    # The bucket is made where it is missing; MLflow reads everything secret from its environment.
    command:
      - sh
      - -c
      - >-
        python -c "import boto3; s3 = boto3.client('s3');
        'artifacts' in [b['Name'] for b in s3.list_buckets()['Buckets']] or s3.create_bucket(Bucket='artifacts')" &&
        exec mlflow server --app-name basic-auth --host 0.0.0.0 --port 5000 --allowed-hosts '{hosts}'
    environment:
      MLFLOW_BACKEND_STORE_URI: postgresql://mlflow:${{POSTGRES_PASSWORD:?set it in .env}}@postgres/mlflow
      MLFLOW_ARTIFACTS_DESTINATION: s3://artifacts
      MLFLOW_S3_ENDPOINT_URL: http://s3:9000
      AWS_ENDPOINT_URL: http://s3:9000
      AWS_DEFAULT_REGION: us-east-1
      AWS_ACCESS_KEY_ID: ${{S3_ACCESS_KEY:?set it in .env}}
      AWS_SECRET_ACCESS_KEY: ${{S3_SECRET_KEY:?set it in .env}}
      MLFLOW_AUTH_ADMIN_PASSWORD: ${{MLFLOW_ADMIN_PASSWORD:?set it in .env}}
      MLFLOW_FLASK_SERVER_SECRET_KEY: ${{MLFLOW_SECRET_KEY:?set it in .env}}
      MLFLOW_AUTH_CONFIG_PATH: /etc/mlflow-auth.ini
      MLFLOW_DISABLE_TELEMETRY: "true"
    configs: [{{source: auth, target: /etc/mlflow-auth.ini}}]
    volumes: [users:/mlflow]
    ports: ["${{MLFLOW_LISTEN:-127.0.0.1}}:5000:5000"]
    depends_on:
      postgres: {{condition: service_healthy}}
      s3: {{condition: service_healthy}}
    healthcheck:
      test: [CMD, python, -c, "import urllib.request as u; u.urlopen('http://127.0.0.1:5000/health')"]
      interval: 5s
      timeout: 5s
      retries: 60
    networks: [inside]
configs:
  auth:
    content: |
      [mlflow]
      default_permission = READ
      database_uri = sqlite:////mlflow/users.db
      admin_username = admin
      authorization_function = mlflow.server.auth:authenticate_request_basic_auth
      # A password's slow hash once a minute and user instead of once a request.
      auth_cache_ttl_seconds = 60
volumes: {{postgres: {{}}, artifacts: {{}}, users: {{}}}}
networks: {{inside: {{}}}}
"""


def render(cluster: Cluster) -> str:
    """For `docker compose -f - up` beside a `.env`."""
    hosts = ["localhost:*", "127.0.0.1:*"]  # MLflow refuses requests for hosts that it does not know
    named = urlsplit(cluster.mlflow or "").netloc
    if named and named.partition(":")[0] not in ("localhost", "127.0.0.1"):
        hosts += [named] if ":" in named else [named, f"{named}:*"]
    version = importlib.metadata.version("mlflow")
    return TEMPLATE.format(name=cluster.name, python=cluster.python, mlflow=version, hosts=",".join(hosts))
