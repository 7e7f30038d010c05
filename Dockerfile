# Hybrid PageIndex as one image: the HTTP API with its web page, workers, and the command line.
FROM python:3.12.11-slim-bookworm AS build
# What is optional and wanted in the image; torch is not: "onnx" runs exported embedders.
ARG EXTRAS=anthropic,celery,ocr,onnx,openai,postgres,qdrant,s3
# The image's build sees no git, so the version is named: docker build --build-arg VERSION=0.1.0
ARG VERSION=
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /source
RUN python -m venv /opt/pageindex
COPY pyproject.toml requirements.lock README.md LICENSE ./
COPY hybrid_core hybrid_core
COPY indexers indexers
COPY retrievers retrievers
COPY hybrid_pageindex hybrid_pageindex
COPY eval eval
# The versions of the lock; its hashes could not cover the project itself.
RUN sed -n 's/ *\\$//; /==/p' requirements.lock >constraints.txt \
    && export SETUPTOOLS_SCM_PRETEND_VERSION_FOR_HYBRID_PAGEINDEX="${VERSION}" \
    && /opt/pageindex/bin/pip install --constraint constraints.txt ".[${EXTRAS}]"

FROM python:3.12.11-slim-bookworm
# Tesseract's languages: tesseract-ocr-deu, tesseract-ocr-chi-sim, ...
ARG OCR_PACKAGES="tesseract-ocr tesseract-ocr-eng"
RUN apt-get update \
    && apt-get install -y --no-install-recommends ${OCR_PACKAGES} \
    && rm -rf /var/lib/apt/lists/* \
    && install -d -o 10001 -g 10001 -m 700 /data
COPY --from=build /opt/pageindex /opt/pageindex
ENV PATH=/opt/pageindex/bin:$PATH PAGEINDEX_STORAGE_PATH=/data HOME=/tmp PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
VOLUME /data
EXPOSE 8323
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=4 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8323/api/v1/ready', timeout=4)"]
ENTRYPOINT ["hybrid-pageindex"]
CMD ["serve", "--host", "0.0.0.0", "--root", "/documents"]
