/* jsonrpc-glib as a plugin: answers every request with its params. */
#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <jsonrpc-glib.h>

static void echo(JsonrpcServer *server, JsonrpcClient *client,
                 const char *method, GVariant *id, GVariant *params,
                 gpointer data) {
  (void)server, (void)method, (void)data;
  jsonrpc_client_reply_async(client, id, params, NULL, NULL, NULL);
}

static void leave(JsonrpcServer *server, JsonrpcClient *client, gpointer loop) {
  (void)server, (void)client;
  g_main_loop_quit(loop);
}

int main(void) {
  GMainLoop *loop = g_main_loop_new(NULL, FALSE);
  JsonrpcServer *server = jsonrpc_server_new();
  jsonrpc_server_add_handler(server, "echo", echo, NULL, NULL);
  g_signal_connect(server, "client-closed", G_CALLBACK(leave), loop);
  jsonrpc_server_accept_io_stream(
      server, g_simple_io_stream_new(g_unix_input_stream_new(0, FALSE),
                                     g_unix_output_stream_new(1, FALSE)));
  g_main_loop_run(loop);
  return 0;
}
