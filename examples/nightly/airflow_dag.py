"""A nightly evaluation by Airflow, with apache-airflow-providers-apache-beam, -google (without it
the operator of Beam's provider cannot be made, whatever the runner) and -standard.

Copy it into the folder of DAGs and change the names at the top. Airflow's workers need liangchi in
the Python that is named here, and credentials by the cloud's own chain. docs/nightly.md says more.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow import DAG
from airflow.providers.apache.beam.operators.beam import BeamRunPythonPipelineOperator
from airflow.providers.standard.operators.bash import BashOperator

PYTHON = "/opt/liangchi/bin/python"
DUMPS = "s3://evaluation/dumps"
REFERENCES = "s3://evaluation/references"
RUNS = "s3://evaluation/runs"

# Date and run in the path: no run ever meets another, and a night that is run again by hand gets a
# folder of its own.
RUN = "nightly-{{ ts_nodash }}"
OUTPUT = f"{RUNS}/{{{{ ds }}}}/{RUN}"

with DAG(
    dag_id="liangchi_nightly",
    schedule="15 2 * * *",
    start_date=datetime(2026, 12, 1),
    catchup=False,
    max_active_runs=1,
    default_args={
        # A store that is down (exit code 4) or a worker that was lost (1) may be well in ten
        # minutes. Wrong input (2) will not be, but is found within seconds.
        "retries": 2,
        "retry_delay": timedelta(minutes=10),
        "execution_timeout": timedelta(hours=3),
    },
) as dag:
    evaluate = BeamRunPythonPipelineOperator(
        task_id="evaluate",
        runner="FlinkRunner",
        py_interpreter=PYTHON,
        py_options=["-m"],
        py_file="pipelines.evaluate",
        pipeline_options={
            # Beam's options and the runner's, and what is measured.
            "config": "/opt/liangchi/nightly.toml",
            "hypotheses": f"{DUMPS}/{{{{ ds }}}}/hypotheses/",
            "references": f"{REFERENCES}/",
            "output": OUTPUT,
            "run_id": RUN,
            # What a try before this one left is replaced; should it still be going on somewhere,
            # it ends there without a manifest.
            "overwrite": True,
            "quiet": True,
        },
    )
    show = BashOperator(
        task_id="show",
        # Exit code 2 unless the run is complete; the table is in the task's log.
        bash_command=f"{PYTHON} -m pipelines.command show {OUTPUT}",
    )
    evaluate >> show
