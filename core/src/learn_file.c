/* A learner's overlay: taken up under its lock, added to, written anew (docs/FORMAT.md 15.4). */

#include "learn_handle.h"

/* What a file's bytes hold, in the place of all that was learned so far; the model too, if it is wanted. */
static bool take_up(er_learner *learner, er_text data, bool tools, er_contents *contents, er_error *error)
{
    er_arena arena = {.error = error};
    const char *name = learner->path ? learner->path : "the overlay's bytes";
    er_reading reading = {.shown = name, .serials = &learner->serials, .model = tools ? er_held(learner->given) : NULL};
    const er_shown shown = er_show((er_text){name, strlen(name)});
    *contents = (er_contents){0};
    reading.state = er_knowledge_new(&learner->shown, ++learner->serials);
    bool fine = reading.state || er_refuse(error, ER_NO_MEMORY, "no memory for what was learned");
    if (fine && !er_overlay_unborn(data))
        fine = er_take(&arena, 1, 1) /* a block to go back to */ &&
               er_overlay_scan(&arena, data, shown.at, er_deciding(learner->given)->spec.fingerprint, learner->key, er_record_take, &reading, contents);
    er_give_back(&arena);
    er_give_back(&reading.arena);
    if (!fine) {
        er_knowledge_free(reading.state);
        er_free(reading.model);
        return false;
    }
    if (tools) {
        er_free(learner->model);
        learner->model = reading.model;
    } else if (memcmp(learner->others, reading.others, ER_DIGEST))
        learner->others_changed = true;
    memcpy(learner->others, reading.others, ER_DIGEST);
    er_knowledge *before = learner->state;
    er_mutex_lock(&learner->lock);
    learner->state = reading.state;
    er_mutex_unlock(&learner->lock);
    if (before && before->mapped) er_labels_map(reading.state, before->mapped); /* whose names stay in the table */
    er_knowledge_free(before);
    learner->unfolded = reading.unfolded;
    learner->named = learner->folded = reading.state->name_count;
    return true;
}

/* A writer that takes back an append that failed, while we read, can make this look like damage; damage is what two readings
   find alike. */
bool er_learner_read(er_learner *learner, er_text bytes, er_error *error)
{
    er_arena arena = {.error = error};
    er_contents contents;
    er_text before = {NULL, 0}, data;
    bool fine;
    if (bytes.at) /* which nobody appended to, so that nothing can be torn off */
        return take_up(learner, bytes, true, &contents, error) &&
               (contents.size == bytes.length ||
                er_refuse(error, ER_BAD_OVERLAY, "the overlay's bytes: damaged or cut off at byte %llu; give back all that er_learner_bytes told", (unsigned long long)contents.size));
    for (;;) {
        fine = er_file_read(&arena, learner->path, ER_MOST_OVERLAY, &data);
        if (!fine || (fine = take_up(learner, data, true, &contents, error))) break;
        if (error->status != ER_BAD_OVERLAY || (before.at && er_same(before, data))) break;
        er_clear(error, error);
        before = data;
    }
    er_give_back(&arena);
    return fine;
}

static void stamp(er_learner *learner)
{
    learner->stamp.known = true;
    learner->stamp.size = learner->contents.size;
    memcpy(learner->stamp.end, learner->contents.digest, ER_DIGEST);
}

/* Locks the file, and takes up what others wrote. */
bool er_learner_lock(er_learner *learner, er_locked *file, er_error *error)
{
    if (!er_locked_open(file, learner->path, learner->wait_s, error)) return false;
    if (er_locked_unchanged(file, &learner->stamp)) return true;
    er_arena arena = {.error = error};
    er_bytes header = {0};
    er_contents contents;
    er_text data;
    learner->stamp.known = false;
    bool fine = er_locked_read(file, &arena, ER_MOST_OVERLAY, &data) && take_up(learner, data, false, &contents, error);
    if (fine && er_overlay_unborn(data)) { /* not longer than a header, so that nothing is left behind the new one */
        uint8_t salt[ER_SALT];
        fine = er_random(salt, sizeof salt) || er_refuse(error, ER_NOT_KEPT, "%s: no random numbers here", file->shown.at);
        er_put_header(&header, salt, er_deciding(learner->given)->spec.fingerprint, learner->given->content_hash, learner->key, &contents);
        fine = fine && (!header.failed || er_refuse(error, ER_NO_MEMORY, "no memory for a header"));
        fine = fine && er_locked_put(file, header.at, header.length, 0);
    } else if (fine && contents.size < data.length)
        fine = er_locked_cut(file, contents.size);
    if (fine && (fine = er_locked_settle(file, &learner->stamp))) {
        learner->contents = contents;
        stamp(learner);
    }
    er_bytes_free(&header);
    er_give_back(&arena);
    if (!fine) er_locked_close(file);
    return fine;
}

/* Records of other kinds, as they are, each in a batch. */
typedef struct {
    er_bytes *bytes;
    const char *shown;
    er_contents *contents;
} copying;

static bool copy_other(void *context, er_text kind, const er_fields *record)
{
    const copying *c = context;
    if (er_is(kind, "plan") || er_is(kind, "learned-state") || er_is(kind, "learned-plan")) return true;
    const size_t begin = c->bytes->length;
    er_batch_begin(c->bytes, c->contents);
    er_put_text(c->bytes, kind);
    er_put_value(c->bytes, record->map);
    return er_batch_end(c->bytes, begin, c->shown, c->contents, record->arena->error);
}

bool er_put_learned(er_bytes *bytes, er_arena *arena, const er_knowledge *s, const int32_t *numbers, uint32_t names, const char *shown, er_contents *contents)
{
    bool fine = true;
    for (uint32_t i = 0; fine && i <= s->plan_count && s->plan_count; i++) {
        const size_t begin = bytes->length;
        const bool last = i == s->plan_count;
        er_batch_begin(bytes, contents);
        er_put_text(bytes, last ? ER_TEXT("learned-state") : ER_TEXT("learned-plan"));
        if (!last) er_put_told(bytes, s, s->plans[i]);
        else fine = er_put_state(bytes, arena, s, numbers, names);
        fine = fine && er_batch_end(bytes, begin, shown, contents, arena->error);
    }
    return fine;
}

/* The file anew, with what `s` holds by these numbers of names. */
static bool compact(er_learner *learner, er_locked *file, const er_knowledge *s, const int32_t *numbers, uint32_t names, er_error *error)
{
    er_arena arena = {.error = error}, scratch = {.error = error};
    er_bytes bytes = {0};
    er_contents contents, before;
    uint8_t salt[ER_SALT];
    er_text data;
    const char *shown = file->shown.at;
    copying c = {&bytes, shown, &contents};
    const er_text fingerprint = er_deciding(learner->given)->spec.fingerprint;
    bool fine = (er_random(salt, sizeof salt) || er_refuse(error, ER_NOT_KEPT, "%s: no random numbers here", shown)) &&
                er_locked_read(file, &arena, ER_MOST_OVERLAY, &data) && er_take(&scratch, 1, 1);
    if (fine) er_put_header(&bytes, salt, fingerprint, learner->given->content_hash, learner->key, &contents);
    fine = fine && er_overlay_scan(&scratch, data, shown, fingerprint, learner->key, copy_other, &c, &before);
    fine = fine && er_put_learned(&bytes, &scratch, s, numbers, names, shown, &contents);
    if (fine) fine = er_locked_replace(file, bytes.at, bytes.length);
    if (fine) {
        learner->contents = contents;
        stamp(learner);
        /* Its name is not safe before this; the next writer settles it before anything is added. */
        learner->stamp.known = er_locked_settle(file, &learner->stamp);
        if (!learner->stamp.known) er_clear(error, error);
    }
    er_bytes_free(&bytes);
    er_give_back(&scratch);
    er_give_back(&arena);
    return fine;
}

/* Writes the file anew, if there is one, and drops names that nothing refers to; `s` then is the state. */
bool er_learner_fold(er_learner *learner, er_locked *file, er_knowledge *s, er_error *error)
{
    er_arena arena = {.error = error};
    int32_t *numbers = ER_TAKE(&arena, int32_t, s->name_count);
    const uint32_t names = numbers ? er_used_names(s, true, numbers) : 0;
    const bool fine = numbers && (!learner->path || compact(learner, file, s, numbers, names, error));
    if (fine) {
        er_knowledge *before = learner->state;
        er_mutex_lock(&learner->lock);
        if (names < s->name_count) {
            er_renumber(s, numbers);
            s->serial = ++learner->serials;
        }
        learner->state = s;
        er_mutex_unlock(&learner->lock);
        if (before != s) er_knowledge_free(before);
        learner->unfolded = 0;
        learner->named = learner->folded = names;
    }
    er_give_back(&arena);
    return fine;
}

void er_record_begin(const er_learner *learner, er_bytes *bytes)
{
    *bytes = (er_bytes){0};
    er_batch_begin(bytes, &learner->contents);
}

/* What stands in the file when this returns true is learned from it, whatever happens then. */
bool er_record_add(er_learner *learner, const er_locked *file, er_bytes *bytes, er_error *error)
{
    er_contents contents = learner->contents;
    const bool fine = er_batch_end(bytes, 0, file->shown.at, &contents, error) && er_locked_put(file, bytes->at, bytes->length, learner->contents.size);
    if (!fine) return learner->stamp.known = false; /* the next one finds what is really there */
    learner->contents = contents;
    stamp(learner);
    return true;
}

bool er_learner_append(er_learner *learner, const er_locked *file, const er_plan *plan, er_error *error)
{
    er_bytes bytes;
    er_record_begin(learner, &bytes);
    ER_PUT(&bytes, "plan");
    er_put_plan(&bytes, learner->state, plan, learner->named);
    const bool fine = er_record_add(learner, file, &bytes, error);
    er_bytes_free(&bytes);
    return fine;
}
