/* jsonrpc-glib as a host: host MODE SECONDS N PLUGIN... */
#include <jsonrpc-glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BETWEEN_LOOKS 100 /* calls from one look at the clock to the next */
#define MOST_STARTS 10000

typedef struct peer {
  GSubprocess *child;
  JsonrpcClient *client;
} peer;

static double now(void) { return (double)g_get_monotonic_time() / 1e6; }

static void check(GError *error) {
  if (error)
    g_error("%s", error->message);
}

/* {====== The conversation ====== */

static peer open_peer(char **command) {
  GError *error = NULL;
  peer p;
  p.child = g_subprocess_newv(
      (const char *const *)command,
      G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE, &error);
  check(error);
  p.client = jsonrpc_client_new(
      g_simple_io_stream_new(g_subprocess_get_stdout_pipe(p.child),
                             g_subprocess_get_stdin_pipe(p.child)));
  jsonrpc_client_start_listening(p.client);
  return p;
}

static void close_peer(peer p) {
  jsonrpc_client_close(p.client, NULL, NULL);
  g_subprocess_wait(p.child, NULL, NULL);
  g_object_unref(p.client);
  g_object_unref(p.child);
}

static void call(peer p, GVariant *params) {
  GError *error = NULL;
  GVariant *result = NULL;
  jsonrpc_client_call(p.client, "echo", params, NULL, &result, &error);
  check(error);
  g_variant_unref(result);
}

static GVariant *message(const char *text) {
  GVariantDict dict;
  GVariant *list[3];
  for (int i = 0; i < 3; i++)
    list[i] = g_variant_new_variant(g_variant_new_int64(i + 1));
  g_variant_dict_init(&dict, NULL);
  g_variant_dict_insert(&dict, "n", "x", (gint64)123);
  g_variant_dict_insert(&dict, "s", "s", text);
  g_variant_dict_insert_value(&dict, "list",
                              g_variant_new_array(NULL, list, 3));
  return g_variant_ref_sink(g_variant_dict_end(&dict));
}

static GVariant *small(void) { return message("hello world"); }

/* }====== */

/* {====== What is measured ====== */

static double sequential(peer p, double seconds, GVariant *params, int looks) {
  long calls = 0;
  double begun, spent;
  call(p, params);
  begun = now();
  do {
    for (int i = 0; i < looks; i++)
      call(p, params);
    calls += looks;
    spent = now() - begun;
  } while (spent < seconds);
  return spent / (double)calls;
}

typedef struct flying {
  GVariant *params;
  double stop;
  long calls, under_way;
} flying;

/* Each answer asks again. */
static void answered(GObject *client, GAsyncResult *outcome, gpointer data) {
  flying *all = data;
  GError *error = NULL;
  GVariant *result = NULL;
  jsonrpc_client_call_finish(JSONRPC_CLIENT(client), outcome, &result, &error);
  check(error);
  g_variant_unref(result);
  all->calls++;
  if (now() < all->stop)
    jsonrpc_client_call_async(JSONRPC_CLIENT(client), "echo", all->params, NULL,
                              answered, data);
  else
    all->under_way--;
}

static double flight(peer p, double seconds, long depth) {
  double begun = now();
  flying all = {small(), begun + seconds, 0, depth};
  for (long i = 0; i < depth; i++)
    jsonrpc_client_call_async(p.client, "echo", all.params, NULL, answered,
                              &all);
  while (all.under_way > 0)
    g_main_context_iteration(NULL, TRUE);
  return (double)all.calls / (now() - begun);
}

static double string(peer p, double seconds, long size) {
  const char *line = "the quick brown fox jumps over the lazy dog ";
  char *text = g_malloc((gsize)size + 1);
  for (long i = 0; i < size; i++)
    text[i] = line[(gsize)i % strlen(line)];
  text[size] = '\0';
  return (double)size / sequential(p, seconds, message(text), 1);
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double start(char **command, double seconds) {
  static double times[MOST_STARTS];
  GVariant *params = small();
  double stop = now() + seconds;
  size_t n = 0;
  do {
    double begun = now();
    peer p = open_peer(command);
    call(p, params);
    times[n++] = now() - begun;
    close_peer(p);
  } while (n < MOST_STARTS && now() < stop);
  qsort(times, n, sizeof times[0], compare);
  return times[n / 2];
}

static double memory(peer p, long which) {
  const char *pid = which == 0 ? g_subprocess_get_identifier(p.child) : "self";
  char *path = g_strdup_printf("/proc/%s/statm", pid);
  FILE *file;
  long pages = 0;
  call(p, small());
  file = fopen(path, "r");
  if (!file || fscanf(file, "%*d %ld", &pages) != 1)
    g_error("%s", path);
  fclose(file);
  return (double)pages * 4096 / 1e6;
}

/* }====== */

int main(int argc, char **argv) {
  double seconds = argc > 4 ? atof(argv[2]) : 0;
  long n = argc > 4 ? atol(argv[3]) : 0;
  const char *mode = argv[1];
  if (strcmp(mode, "start") == 0) {
    printf("%.9g\n", start(argv + 4, seconds));
    return 0;
  }
  peer p = open_peer(argv + 4);
  if (strcmp(mode, "sequential") == 0)
    printf("%.9g\n", sequential(p, seconds, small(), BETWEEN_LOOKS));
  else if (strcmp(mode, "flight") == 0)
    printf("%.9g\n", flight(p, seconds, n));
  else if (strcmp(mode, "string") == 0)
    printf("%.9g\n", string(p, seconds, n));
  else
    printf("%.9g\n", memory(p, n));
  close_peer(p);
  return 0;
}
