#include "beside.h"

#include "folder.h"
#include "signature.h"

#ifdef _WIN32
static bool is_separator(char c) { return c == '/' || c == '\\' || c == ':'; }
#else
static bool is_separator(char c) { return c == '/'; }
#endif

bool er_signatures_beside(er_arena *arena, const char *path, const char *shown, er_text *found)
{
    er_mapped file;
    if (!path)
        return er_refuse(arena->error, ER_BAD_INPUT, "files in memory have none beside them; give the content of NAME.sig as options.signatures");
    size_t end = strlen(path);
    while (end > 1 && is_separator(path[end - 1])) end--;
    size_t begin = end;
    while (begin > 0 && !is_separator(path[begin - 1])) begin--;
    const er_text name = {path + begin, end - begin};
    if (!name.length || er_is(name, ".") || er_is(name, ".."))
        return er_refuse(arena->error, ER_BAD_INPUT, "%s: signatures are beside the bundle's folder; give its path by name", shown);
    char *beside = ER_TAKE(arena, char, name.length + 5), *parent = ER_TAKE(arena, char, begin + 2);
    if (!beside || !parent) return false;
    memcpy(beside, name.at, name.length);
    memcpy(beside + name.length, ".sig", 4);
    if (begin > 1 && path[begin - 1] == '/' && path[begin - 2] != ':') begin--;
    memcpy(parent, begin ? path : ".", begin ? begin : 1);
    er_folder *folder = er_folder_open(arena, parent);
    const bool fine = folder && er_folder_map(arena, folder, (er_text){beside, name.length + 4}, ER_MOST_SIGNATURES,
                                              "get it from where the bundle came from, or sign the bundle: edgeret-export sign", &file);
    er_folder_close(folder);
    if (!fine) return false;
    char *copy = ER_TAKE(arena, char, file.length + 1);
    if (copy && file.length) memcpy(copy, file.bytes, file.length);
    *found = (er_text){copy, file.length};
    er_unmap(&file);
    return copy != NULL;
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool er_given_hash(er_error *error, er_text given, char digits[64], er_text *hash)
{
    er_text text = given;
    for (; text.length && is_space(text.at[0]); text.at++, text.length--) {}
    for (; text.length && is_space(text.at[text.length - 1]); text.length--) {}
    bool fine = text.length == 64;
    for (size_t i = 0; i < 64 && fine; i++) {
        const char c = text.at[i];
        digits[i] = (char)(c >= 'A' && c <= 'F' ? c + 32 : c);
        fine = (c >= '0' && c <= '9') || (digits[i] >= 'a' && digits[i] <= 'f');
    }
    *hash = (er_text){digits, 64};
    return fine || er_refuse(error, ER_BAD_INPUT, "a content hash has 64 hexadecimal digits, found \"%s\"; see: edgeret inspect", er_show(given).at);
}
