/* What both files of native methods share: handles, failures, Java's arrays. */

#ifndef EDGERET_JNI_H
#define EDGERET_JNI_H

#include <jni.h>

#include "edgeret.h"

#define METHOD(type, name) JNIEXPORT type JNICALL Java_edgeret_Core_##name
#define MODEL(handle) ((er_model *)(intptr_t)(handle))
#define TASK(handle) ((er_task *)(intptr_t)(handle))
#define LEARNER(handle) ((er_learner *)(intptr_t)(handle))

/* A failure becomes an EdgeretException, unless Java has one already. */
void refuse(JNIEnv *env, er_status status, const char *line);
void check(JNIEnv *env, er_status status, const er_error *why);

jbyteArray bytes_of(JNIEnv *env, er_text text);

/* Texts of Java's, copied. */
typedef struct {
    er_text *at;
    size_t count;
} copies;

/* Behind what is there. */
void copy_all(JNIEnv *env, jobjectArray from, copies *to);
er_change change_of(JNIEnv *env, copies *held, jobjectArray add, jobjectArray remove, jobjectArray replace);
void give_copies(const copies *held);

#endif
