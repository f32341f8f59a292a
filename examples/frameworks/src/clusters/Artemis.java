import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.apache.activemq.artemis.api.core.QueueConfiguration;
import org.apache.activemq.artemis.api.core.client.ActiveMQClient;
import org.apache.activemq.artemis.api.core.client.ClientConsumer;
import org.apache.activemq.artemis.api.core.client.ClientMessage;
import org.apache.activemq.artemis.api.core.client.ClientProducer;
import org.apache.activemq.artemis.api.core.client.ClientSession;
import org.apache.activemq.artemis.api.core.client.ClientSessionFactory;
import org.apache.activemq.artemis.api.core.client.ServerLocator;
import org.apache.activemq.artemis.core.config.impl.ConfigurationImpl;
import org.apache.activemq.artemis.core.server.embedded.EmbeddedActiveMQ;

/** A broker of Artemis, or a producer and a consumer, each on a connection of the core client. */
final class Artemis {
  private static final String URL = "tcp://127.0.0.2:61616?useEpoll=false";
  private static final int MESSAGES = 20_000;
  private static final byte[] BODY = new byte[10_000];

  public static void main(String[] args) throws Exception {
    if (args[0].equals("broker")) {
      new EmbeddedActiveMQ()
          .setConfiguration(
              new ConfigurationImpl()
                  .setPersistenceEnabled(false)
                  .setSecurityEnabled(false)
                  .addAcceptorConfiguration("netty", URL))
          .start();
      return;
    }
    new Random(42).nextBytes(BODY);
    try (ServerLocator locator =
            ActiveMQClient.createServerLocator(URL).setInitialConnectAttempts(100);
        ClientSessionFactory sending = locator.createSessionFactory();
        ClientSessionFactory receiving = locator.createSessionFactory();
        ClientSession sender = sending.createSession();
        ClientSession receiver = receiving.createSession()) {
      receiver.createQueue(QueueConfiguration.of("queue").setDurable(false));
      receiver.start();
      ClientProducer producer = sender.createProducer("queue");
      ClientConsumer consumer = receiver.createConsumer("queue");
      exchange(producer, sender, consumer, MESSAGES / 10);
      Cost cost = new Cost();
      exchange(producer, sender, consumer, MESSAGES);
      cost.print(MESSAGES + " messages of " + BODY.length + " bytes sent and received");
    }
  }

  /** Sends messages, and receives them meanwhile. */
  private static void exchange(
      ClientProducer producer, ClientSession sender, ClientConsumer consumer, int messages)
      throws Exception {
    CompletableFuture<Void> sent =
        CompletableFuture.runAsync(
            () -> {
              try {
                for (int i = 0; i < messages; i++) {
                  ClientMessage message = sender.createMessage(false);
                  message.getBodyBuffer().writeInt(i);
                  message.getBodyBuffer().writeBytes(BODY);
                  producer.send(message);
                }
              } catch (Exception e) {
                throw new IllegalStateException(e);
              }
            });
    byte[] body = new byte[BODY.length];
    for (int i = 0; i < messages; i++) {
      ClientMessage message = consumer.receive(60_000);
      int number = message.getBodyBuffer().readInt();
      message.getBodyBuffer().readBytes(body);
      if (number != i || !Arrays.equals(BODY, body)) {
        throw new AssertionError("message " + i + ": other data has arrived");
      }
      message.acknowledge();
    }
    sent.join();
  }
}
