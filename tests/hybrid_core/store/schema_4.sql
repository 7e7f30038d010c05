CREATE TABLE meta (
    "key" VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    PRIMARY KEY ("key")
);
CREATE TABLE embedders (
    fingerprint VARCHAR NOT NULL,
    name TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    sparse BOOLEAN DEFAULT '0' NOT NULL,
    PRIMARY KEY (fingerprint)
);
CREATE TABLE embeddings (
    fingerprint VARCHAR NOT NULL,
    text_key VARCHAR NOT NULL,
    vector BLOB NOT NULL,
    weights BLOB,
    PRIMARY KEY (fingerprint, text_key)
)
 WITHOUT ROWID;
CREATE TABLE embedded (
    content_id VARCHAR NOT NULL,
    fingerprint VARCHAR NOT NULL,
    vectors INTEGER NOT NULL,
    PRIMARY KEY (content_id, fingerprint)
)
 WITHOUT ROWID;
CREATE TABLE contents (
    content_id VARCHAR NOT NULL,
    sha256 VARCHAR NOT NULL,
    format VARCHAR NOT NULL,
    pages INTEGER NOT NULL,
    sections INTEGER NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    metadata TEXT NOT NULL,
    warnings TEXT NOT NULL,
    models TEXT DEFAULT '{}' NOT NULL,
    PRIMARY KEY (content_id)
);
CREATE INDEX ix_contents_sha256 ON contents (sha256);
CREATE TABLE pages (
    content_id VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    label VARCHAR NOT NULL,
    width FLOAT NOT NULL,
    height FLOAT NOT NULL,
    text TEXT NOT NULL,
    summary TEXT NOT NULL,
    boxes BLOB NOT NULL,
    needs_ocr BOOLEAN NOT NULL,
    ocr BOOLEAN DEFAULT '0' NOT NULL,
    described TEXT DEFAULT '' NOT NULL,
    PRIMARY KEY (content_id, number)
)
 WITHOUT ROWID;
CREATE TABLE sections (
    content_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    parent INTEGER NOT NULL,
    level INTEGER NOT NULL,
    title TEXT NOT NULL,
    start_page INTEGER NOT NULL,
    end_page INTEGER NOT NULL,
    anchor INTEGER NOT NULL,
    end_anchor INTEGER,
    anchor_y FLOAT NOT NULL,
    source VARCHAR NOT NULL,
    synthetic BOOLEAN NOT NULL,
    summary TEXT NOT NULL,
    flags VARCHAR NOT NULL,
    gaps TEXT DEFAULT '[]' NOT NULL,
    PRIMARY KEY (content_id, position)
)
 WITHOUT ROWID;
CREATE TABLE chunks (
    content_id VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    section INTEGER NOT NULL,
    page INTEGER NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    PRIMARY KEY (content_id, number)
)
 WITHOUT ROWID;
CREATE TABLE terms (
    content_id VARCHAR NOT NULL,
    body BLOB NOT NULL,
    headings BLOB NOT NULL,
    PRIMARY KEY (content_id)
);
CREATE TABLE changes (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    library VARCHAR NOT NULL,
    doc_id VARCHAR NOT NULL,
    content_id VARCHAR
);
CREATE INDEX changes_by_library ON changes (library, seq);
CREATE TABLE cache (
    "key" VARCHAR NOT NULL,
    value BLOB NOT NULL,
    used_at FLOAT NOT NULL,
    PRIMARY KEY ("key")
);
CREATE INDEX cache_by_use ON cache (used_at);
CREATE TABLE libraries (
    name VARCHAR NOT NULL,
    created_at VARCHAR NOT NULL,
    embedder VARCHAR,
    next_embedder VARCHAR,
    PRIMARY KEY (name),
    FOREIGN KEY(embedder) REFERENCES embedders (fingerprint),
    FOREIGN KEY(next_embedder) REFERENCES embedders (fingerprint)
);
CREATE TABLE documents (
    doc_id VARCHAR NOT NULL,
    library VARCHAR NOT NULL,
    path TEXT NOT NULL,
    name TEXT NOT NULL,
    content_id VARCHAR,
    card TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime FLOAT NOT NULL,
    indexed_at VARCHAR NOT NULL,
    error TEXT NOT NULL,
    PRIMARY KEY (doc_id),
    UNIQUE (library, path),
    FOREIGN KEY(library) REFERENCES libraries (name),
    FOREIGN KEY(content_id) REFERENCES contents (content_id)
);
CREATE INDEX ix_documents_content_id ON documents (content_id);
