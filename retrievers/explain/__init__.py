"""Why a page was returned: receipts, snippets, evidence, trace."""
