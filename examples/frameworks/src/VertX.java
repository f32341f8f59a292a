import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServer;

/** A server and a client of Vert.x. */
final class VertX {
  private static final int REQUESTS = 50;

  public static void main(String[] args) throws Exception {
    Vertx vertx = Vertx.vertx();
    String host = Traffic.server().getHostAddress();
    HttpServer server =
        vertx
            .createHttpServer()
            .requestHandler(request -> request.response().end(Buffer.buffer(Traffic.BODY)))
            .listen(0, host)
            .toCompletionStage()
            .toCompletableFuture()
            .get();
    HttpClient client = vertx.createHttpClient();
    for (int i = 0; i < REQUESTS; i++) {
      Buffer body =
          client
              .request(HttpMethod.GET, server.actualPort(), host, "/")
              .compose(request -> request.send().compose(response -> response.body()))
              .toCompletionStage()
              .toCompletableFuture()
              .get();
      Traffic.check(body.getBytes());
    }
    System.out.println(REQUESTS + " responses of " + Traffic.BODY.length + " bytes");
    Traffic.besides();
    vertx.close().toCompletionStage().toCompletableFuture().get();
    System.out.println("closed");
  }
}
