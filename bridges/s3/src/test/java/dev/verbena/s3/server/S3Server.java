package dev.verbena.s3.server;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.Device;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A server of S3 over RDMA for tests: objects in memory, plain HTTP, buckets in paths and, below
 * localhost, in hosts. It moves data by DC, and by RC connections of clients.
 */
public final class S3Server implements AutoCloseable {
  /** The id of the only access key. */
  public static final String ACCESS_KEY = "VERBENA";

  /** The secret of the access key. */
  public static final String SECRET_KEY = "secret of the test server";

  /** A bucket that exists. */
  public static final String BUCKET = "bucket";

  static {
    // Otherwise the body of an answer waits for the acknowledgement of its headers.
    System.setProperty("sun.net.httpserver.nodelay", "true");
  }

  private final HttpServer http;
  private final ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
  private final Counters counters = new Counters();
  private final Faults faults = new Faults();
  private final Store store = new Store();
  private final Optional<Rdma> rdma;
  private final Operations operations;
  private final Queue<S3Request> requests = new ConcurrentLinkedQueue<>();
  private final Queue<RuntimeException> errors = new ConcurrentLinkedQueue<>();

  private S3Server(InetAddress address, Optional<Device> device, Profile profile)
      throws IOException {
    rdma = device.map(opened -> new Rdma(opened, counters));
    http = HttpServer.create(new InetSocketAddress(address, 0), 1024);
    operations = new Operations(store, rdma, profile);
    http.createContext("/", this::handle);
    http.setExecutor(executor);
    http.start();
  }

  /**
   * Starts a server.
   *
   * @param address where it listens, on any port
   * @param device an mlx5 device, or a software device of profile connectx5
   * @param profile how it treats tokens
   * @return the server, to be closed
   * @throws IOException if the port cannot be bound
   */
  public static S3Server start(InetAddress address, Device device, Profile profile)
      throws IOException {
    return new S3Server(address, Optional.of(device), profile);
  }

  /**
   * Starts a server without an RDMA device.
   *
   * @param address where it listens, on any port
   * @param profile how it treats tokens
   * @return the server, to be closed
   * @throws IOException if the port cannot be bound
   */
  public static S3Server start(InetAddress address, Profile profile) throws IOException {
    return new S3Server(address, Optional.empty(), profile);
  }

  /** {@return the endpoint} */
  public URI uri() {
    InetSocketAddress address = http.getAddress();
    String host = address.getAddress().getHostAddress();
    return URI.create(
        "http://" + (host.contains(":") ? "[" + host + "]" : host) + ":" + address.getPort());
  }

  /** {@return the objects, by {@code /bucket/key}} */
  public ConcurrentMap<String, StoredObject> objects() {
    return store.objects;
  }

  /** {@return the counters} */
  public Counters counters() {
    return counters;
  }

  /** {@return all requests, in the order of their arrival; may be cleared} */
  public Queue<S3Request> requests() {
    return requests;
  }

  /** {@return what the server did not expect; such a request was answered with status 500} */
  public Queue<RuntimeException> errors() {
    return errors;
  }

  /** {@return the faults} */
  public Faults faults() {
    return faults;
  }

  /**
   * Sets how tokens are treated.
   *
   * @param profile the profile
   */
  public void profile(Profile profile) {
    operations.profile = profile;
  }

  /**
   * Sets what moves data. Connections are those of the device at all times.
   *
   * @param mover at first, the server's device
   */
  public void mover(Mover mover) {
    operations.mover = Optional.of(mover);
  }

  /** {@return what moves data} */
  public Mover mover() {
    return operations.mover.orElseThrow();
  }

  /**
   * Sets whether RDMA is on, as a setting of the server.
   *
   * @param isEnabled true at first
   */
  public void enableRdma(boolean isEnabled) {
    operations.isRdmaEnabled = isEnabled;
  }

  /**
   * Sets the DC access key of clients.
   *
   * @param key 0xffeeddcc at first
   */
  public void dcKey(long key) {
    rdma.orElseThrow().dcKey = key;
  }

  /**
   * Writes to the memory of a token, without a request: after the client gave up.
   *
   * @param token the token
   * @param data what to write
   * @return the status of the RDMA WRITE
   */
  public CompletionStatus lateWrite(String token, byte[] data) {
    return rdma.orElseThrow().move(true, Token.parse(token), data);
  }

  /**
   * Reads the memory of a token, without a request: after the client gave up.
   *
   * @param token the token
   * @return the status of the RDMA READ
   */
  public CompletionStatus lateRead(String token) {
    Token parsed = Token.parse(token);
    return rdma.orElseThrow().move(false, parsed, new byte[Math.toIntExact(parsed.size())]);
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      byte[] body = exchange.getRequestBody().readAllBytes();
      S3Request request =
          S3Request.of(
              exchange.getRequestMethod(),
              exchange.getRequestURI(),
              exchange.getRequestHeaders(),
              body.length);
      counters.request(request);
      requests.add(request);
      Faults.Plan plan = faults.plan(request);
      plan.beforeTransfer().forEach(Gate::pass);
      if (plan.has(Fault.DROP_BEFORE_TRANSFER)) {
        return; // A close before the headers are sent ends the connection.
      }
      Reply reply = reply(request, body, plan);
      plan.beforeAnswer().forEach(Gate::pass);
      if (!plan.has(Fault.DROP_AFTER_TRANSFER)) {
        send(exchange, request, reply);
      }
    }
  }

  private Reply reply(S3Request request, byte[] body, Faults.Plan plan) {
    try {
      return operations.answer(request, body, plan);
    } catch (S3Exception e) {
      return e.reply(request.path());
    } catch (RuntimeException e) {
      errors.add(e);
      return S3Exception.internal(e.toString()).reply(request.path());
    }
  }

  private void send(HttpExchange exchange, S3Request request, Reply reply) throws IOException {
    reply.headers.forEach(exchange.getResponseHeaders()::set);
    exchange.getResponseHeaders().set("x-amz-request-id", "0");
    boolean isHead = request.method().equals("HEAD");
    if (isHead) {
      exchange.getResponseHeaders().set("content-length", String.valueOf(reply.length));
    }
    boolean hasBody = !isHead && reply.status != 304 && (reply.body.length > 0 || reply.isChunked);
    // A length of 0 is that of a chunked body.
    exchange.sendResponseHeaders(reply.status, hasBody ? reply.body.length : -1);
    if (hasBody) {
      counters.answer(request.operation(), reply.body.length);
      try (OutputStream out = exchange.getResponseBody()) {
        out.write(reply.body);
      }
    }
  }

  /** Ends all faults and requests, and closes the RDMA device. */
  @Override
  public void close() {
    faults.clear();
    http.stop(0);
    executor.close();
    rdma.ifPresent(Rdma::close);
  }
}
