/* Ed25519 signatures (RFC 8032), verified. Knows no secret, so nothing takes the same time whatever the bytes are. */

#ifndef ER_ED25519_H
#define ER_ED25519_H

#include "common.h"

/* Whether 32 bytes are a public key: a point, in its only encoding, that is not of small order. */
bool er_ed25519_is_key(const uint8_t key[32]);

/* Whether a key made the signature over a message; false for keys that are none. The equation is that without the
   cofactor, and R is compared as bytes. */
bool er_ed25519_verify(const uint8_t key[32], er_text message, const uint8_t signature[64]);

#endif
