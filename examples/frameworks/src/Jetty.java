import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.util.Callback;

/** Jetty, and the JDK's client. */
final class Jetty {
  public static void main(String[] args) throws Exception {
    Server server = new Server(new InetSocketAddress(Traffic.server(), 0));
    server.setHandler(
        new Handler.Abstract() {
          @Override
          public boolean handle(Request request, Response response, Callback callback) {
            response.write(true, ByteBuffer.wrap(Traffic.BODY), callback);
            return true;
          }
        });
    server.start();
    Traffic.download(50, server.getURI().getPort());
    Traffic.besides();
    server.stop();
  }
}
