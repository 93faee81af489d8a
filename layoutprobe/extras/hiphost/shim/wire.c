/* The connection to `layoutprobe run`: a UNIX socket, named by an environment variable.
 *
 * A process has one connection, made by its first call; a forked child makes its own, and with it
 * gets a device of its own, as processes on a card have address spaces of their own. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "shim.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int connection = -1;
static int broken; /* it was there, and is no more */
static void *window;
static size_t window_size;

void shim_say(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("layoutprobe's libamdhip64: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
}

static int send_all(const void *bytes, size_t size) {
  for (const char *at = bytes; size;) {
    ssize_t sent = send(connection, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return -1;
    at += sent;
    size -= (size_t)sent;
  }
  return 0;
}

static int receive_all(void *bytes, size_t size) {
  for (char *at = bytes; size;) {
    ssize_t got = recv(connection, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return -1;
    at += got;
    size -= (size_t)got;
  }
  return 0;
}

/* The first message: where the memory is that the device shares, and its file descriptor. */
static int receive_window(void) {
  uint64_t hello[4];
  struct iovec data = {hello, sizeof hello};
  union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control;
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
                           .msg_controllen = sizeof control};
  ssize_t got;
  do got = recvmsg(connection, &message, MSG_WAITALL | MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  if (got != sizeof hello || !head || head->cmsg_type != SCM_RIGHTS || hello[0] != SHIM_VERSION) return -1;
  int file;
  memcpy(&file, CMSG_DATA(head), sizeof file);
  window = mmap((void *)hello[1], hello[3], PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, file, (off_t)hello[2]);
  close(file);
  if (window != (void *)hello[1]) {
    if (window != MAP_FAILED) munmap(window, hello[3]); /* kernels before 4.17 */
    shim_say("address %#llx is taken in this process", (unsigned long long)hello[1]);
    window = NULL;
    return -1;
  }
  window_size = hello[3];
  return 0;
}

static int connect_once(void) {
  if (connection >= 0) return 0;
  if (broken) return -1;
  broken = 1;
  const char *path = getenv(SHIM_SOCKET);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (!path || strlen(path) >= sizeof address.sun_path) {
    shim_say("start the program with `layoutprobe run -- PROGRAM`");
    return -1;
  }
  strcpy(address.sun_path, path);
  connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address) || receive_window()) {
    shim_say("no emulator answers at %s", path);
    if (connection >= 0) close(connection);
    connection = -1;
    return -1;
  }
  broken = 0;
  return 0;
}

/* In a forked child. Its parent's memory is unmapped: it is the parent's device's. */
static void forget(void) {
  if (connection >= 0) close(connection);
  if (window) munmap(window, window_size);
  connection = -1;
  window = NULL;
  pthread_mutex_init(&lock, NULL);
}

__attribute__((constructor)) static void at_start(void) { pthread_atfork(NULL, NULL, forget); }

void *shim_window(size_t *size) {
  *size = window ? window_size : 0;
  return window;
}

static hipError_t lost(void) {
  shim_say("the emulator has gone");
  close(connection);
  connection = -1;
  broken = 1;
  return hipErrorDeinitialized;
}

static hipError_t exchange(uint32_t op, const uint64_t *args, uint32_t count, const void *bytes,
                           uint64_t size, struct answer *answer) {
  struct { uint32_t op, device, count, stream; uint64_t size; } request = {
      op, (uint32_t)shim_device(), count, shim_stream_now(), size};
  struct { int32_t status; uint32_t count; uint64_t size; } reply;
  if (send_all(&request, sizeof request) || send_all(args, count * sizeof *args) || send_all(bytes, size) ||
      receive_all(&reply, sizeof reply))
    return lost();
  answer->count = reply.count;
  answer->size = reply.size;
  if (reply.count > SHIM_MAX_VALUES || reply.size > answer->capacity ||
      receive_all(answer->values, reply.count * sizeof *answer->values) ||
      receive_all(answer->into, reply.size))
    return lost();
  return reply.status;
}

hipError_t shim_ask(uint32_t op, const uint64_t *args, uint32_t count, const void *bytes, uint64_t size,
                    struct answer *answer) {
  struct answer nothing;
  if (!answer) {
    nothing.into = NULL;
    nothing.capacity = 0;
    answer = &nothing;
  }
  pthread_mutex_lock(&lock);
  hipError_t status = hipErrorNoDevice;
  if (!connect_once()) status = exchange(op, args, count, bytes, size, answer);
  pthread_mutex_unlock(&lock);
  return status;
}
