package example;

import dev.verbena.RdmaException;
import dev.verbena.cm.Listener;
import dev.verbena.messages.Connection;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** Answers the keys that one client sends with their values. */
public final class KeyValueServer implements Runnable, AutoCloseable {
  private final Listener listener;
  private final Map<String, String> values;

  public KeyValueServer(InetSocketAddress address, Map<String, String> values) {
    this.listener = Listener.open(address);
    this.values = Map.copyOf(values);
  }

  @Override
  public void run() {
    try (Connection client = Connection.accept(listener)) {
      for (byte[] key = client.receive(); key != null; key = client.receive()) {
        String value = values.getOrDefault(new String(key, StandardCharsets.UTF_8), "");
        client.send(value.getBytes(StandardCharsets.UTF_8));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RdmaException e) {
      System.getLogger("server").log(System.Logger.Level.WARNING, "client lost", e);
    }
  }

  @Override
  public void close() {
    listener.close();
  }
}
