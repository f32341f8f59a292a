package dev.verbena.s3;

import dev.verbena.address.Gid;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairSetup;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.HexFormat;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The connections (RC) to an endpoint, which tokens name instead of a DC target: the protocol of
 * the test server of elbencho. Each attempt has its own; it is closed afterwards, so that the
 * server reaches no memory by it.
 */
final class Connections implements Supplier<Access> {
  private static final String SESSION = "x-amz-rdma-session";
  private static final String PSN = "x-amz-rdma-psn";
  private static final HexFormat HEX = HexFormat.of();
  private static final HttpClient HTTP =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private final ProtectionDomain domain;
  private final CompletionQueue completions;
  private final URI uri;
  private final Duration timeout;
  private final Consumer<QueuePairSetup> setting;

  Connections(
      ProtectionDomain domain, URI uri, Duration timeout, Consumer<QueuePairSetup> setting) {
    this.domain = domain;
    this.completions = // Of nothing: no requests are posted.
        domain.context().completionQueue(1).withoutCapacityWarning().create();
    this.uri = uri;
    this.timeout = timeout;
    this.setting = setting;
  }

  @Override
  public Access get() {
    QueuePair queuePair =
        QueuePair.builder(domain, QueuePairType.RC)
            .completions(completions)
            .capacity(QueuePairCapacity.of(1))
            .create();
    try {
      setting.accept(queuePair.setup().reads(1));
      QueuePairAddress local = queuePair.localAddress();
      String psn = HEX.toHexDigits(local.psn(), 6);
      HttpResponse<?> answer = post("connect", Reply.TOKEN, name(local), PSN, psn);
      String session = header(answer, SESSION, "\\p{XDigit}{32}").group();
      queuePair.connect(address(answer).withMtu(local.mtu()));
      return new Connection(this, queuePair, session);
    } catch (Throwable t) {
      queuePair.close();
      throw t;
    }
  }

  /** Returns an answer, whose body is not read. */
  private HttpResponse<?> post(String path, String... headers) {
    HttpRequest request =
        HttpRequest.newBuilder(uri.resolve("/.s3rdma-rc/" + path))
            .POST(HttpRequest.BodyPublishers.noBody())
            .headers(headers)
            .timeout(timeout)
            .build();
    try {
      HttpResponse<InputStream> answer =
          HTTP.send(request, HttpResponse.BodyHandlers.ofInputStream());
      answer.body().close();
      if (answer.statusCode() != 200) {
        throw new IllegalStateException("unexpected answer: " + answer);
      }
      return answer;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted: " + request, e);
    }
  }

  /** Returns 44 bytes in little endian: 1 for RC, number, GID, what is not used, and LID. */
  private static String name(QueuePairAddress local) {
    return "01"
        + HEX.toHexDigits(Integer.reverseBytes(local.number()))
        + HEX.formatHex(local.gid().toBytes())
        + "0".repeat(42)
        + HEX.toHexDigits(Short.reverseBytes((short) local.lid()));
  }

  private static QueuePairAddress address(HttpResponse<?> answer) {
    Matcher name =
        header(
            answer, Reply.REPLY, "200:01(\\p{XDigit}{8})(\\p{XDigit}{32})\\p{XDigit}{42}(..)(..)");
    return QueuePairAddress.of(
            Integer.reverseBytes(HexFormat.fromHexDigits(name.group(1))),
            Gid.fromBytes(HEX.parseHex(name.group(2))))
        .withLid(HexFormat.fromHexDigits(name.group(4) + name.group(3)))
        .withPsn(HexFormat.fromHexDigits(header(answer, PSN, "\\p{XDigit}{6}").group()));
  }

  private static Matcher header(HttpResponse<?> answer, String name, String pattern) {
    Matcher matcher =
        Pattern.compile(pattern).matcher(answer.headers().firstValue(name).orElse(""));
    if (!matcher.matches()) {
      throw new IllegalStateException(name + " of " + answer + " is not valid");
    }
    return matcher;
  }

  private record Connection(Connections all, QueuePair queuePair, String session)
      implements Access {
    @Override
    public String token(long address, long size, int rkey) {
      return Token.of(session, address, size, rkey);
    }

    @Override
    public void release() {
      try {
        queuePair.close();
      } catch (RuntimeException e) { // The memory may be deregistered in any case.
        Log.LOGGER.log(Level.WARNING, "a connection stays open: " + queuePair, e);
      }
      Thread.startVirtualThread(this::disconnect); // No call waits for this.
    }

    private void disconnect() {
      try {
        all.post("disconnect", SESSION, session);
      } catch (RuntimeException e) { // The server ends idle connections later.
        Log.LOGGER.log(Level.DEBUG, "a connection was not ended at the server", e);
      }
    }
  }
}
