/* What words say by themselves, told. */

#include "model.h"
#include "sayings.h"

er_status er_understand(er_text text, er_understood *room, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!room || (!text.at && text.length)) return er_refuse(error, ER_BAD_INPUT, "the text, or the place for what is read, is NULL"), ER_BAD_INPUT;
    if (!er_sized(room, offsetof(er_understood, only_asks), "er_understood", error)) return error->status;
    if (text.length > (size_t)ER_MOST_QUERY * 4)
        return er_refuse(error, ER_BAD_INPUT, "%zu bytes, at most %d characters are allowed; shorten the text", text.length, ER_MOST_QUERY), ER_BAD_INPUT;
    er_arena arena = {.error = error};
    er_points points;
    er_sayings said;
    if (room->size < offsetof(er_understood, clauses)) {
        if (er_points_of(&arena, text, &points)) {
            bool sure;
            er_understood found = {.language = er_language_of(&points, &sure)};
            found.sure = sure;
            er_fill(room, &found, offsetof(er_understood, only_asks));
        }
    } else if (er_points_of(&arena, text, &points) && er_say(&arena, &points, &said)) {
        er_understood found = {.language = said.language, .sure = said.sure, .only_asks = said.only_asks, .values = said.values, .clause_count = said.clause_count};
        memcpy(found.clauses, said.clauses, said.clause_count * sizeof *found.clauses);
        found.part_count = er_split_clauses(&arena, said.language, &points, ER_CLAUSE, found.parts, ER_MOST_CLAUSES);
        er_fill(room, &found, sizeof found);
    }
    er_give_back(&arena);
    return error->status;
}

uint32_t er_tool_takes(const er_model *model, uint32_t tool)
{
    if (!model || tool >= model->tool_count) return 0;
    const er_habits *habits = model->searched ? &model->searched->habits : &model->habits;
    return habits->silent ? 0 : habits->kinds[tool];
}
