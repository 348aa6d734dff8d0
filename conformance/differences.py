"""Where the embedded server differs from the real one on purpose or for now, each case with the reason."""

from __future__ import annotations

DIFFERENCES = {
    "test_a_token_is_issued_for_an_account": "service account tokens come with access control",
    "test_acting_as_somebody_else_has_their_rights": "impersonation and RBAC come with access control",
}
