package dev.verbena.s3.server;

import dev.verbena.address.Gid;
import dev.verbena.address.GidEntry;
import dev.verbena.address.GidType;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.values.CompletionStatus;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairSetup;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The RC connections of {@code rc:} tokens, which clients make and end by requests of their own. A
 * connection serves one transfer at a time; one that failed is gone.
 */
final class Connections {
  static final String SESSION = "x-amz-rdma-session";
  static final String PSN = "x-amz-rdma-psn";

  private final ProtectionDomain domain;
  private final Map<String, Initiator> idle = new ConcurrentHashMap<>();

  Connections(ProtectionDomain domain) {
    this.domain = domain;
  }

  /**
   * The 44 bytes, little endian, by which both sides name their queue pairs. Key, address and
   * length are not used.
   *
   * @param number the queue pair number
   * @param gid the GID
   * @param port the port
   */
  record QueuePairName(int number, Gid gid, int port) {
    private static final int SIZE = 44;
    private static final byte RC = 1;
    private static final int UNUSED = Integer.BYTES + 2 * Long.BYTES;

    static QueuePairName parse(String digits) {
      ByteBuffer buffer =
          ByteBuffer.wrap(HexFormat.of().parseHex(digits)).order(ByteOrder.LITTLE_ENDIAN);
      if (buffer.remaining() != SIZE || buffer.get() != RC) {
        throw new IllegalArgumentException("not the token of a connected queue pair: " + digits);
      }
      int number = buffer.getInt();
      byte[] gid = new byte[16];
      buffer.get(gid);
      buffer.position(buffer.position() + UNUSED);
      return new QueuePairName(number, Gid.fromBytes(gid), buffer.get());
    }

    @Override
    public String toString() {
      ByteBuffer buffer = ByteBuffer.allocate(SIZE).order(ByteOrder.LITTLE_ENDIAN);
      buffer.put(RC).putInt(number).put(gid.toBytes());
      buffer.position(buffer.position() + UNUSED).put((byte) port);
      return HexFormat.of().formatHex(buffer.array());
    }
  }

  Reply connect(S3Request request) {
    QueuePairName client;
    int psn;
    try {
      client = QueuePairName.parse(request.token().orElse(""));
      psn = HexFormat.fromHexDigits(request.header(PSN).orElse(""));
    } catch (IllegalArgumentException e) {
      throw S3Exception.invalid(e.getMessage());
    }
    Initiator connection =
        new Initiator(
            domain,
            queue ->
                QueuePair.builder(domain, QueuePairType.RC)
                    .completions(queue)
                    .capacity(QueuePairCapacity.of(Initiator.DEPTH))
                    .create());
    QueuePairSetup setup = connection.queuePair.setup().retryCount(7).reads(1);
    GidEntry source = sourceTo(client.gid());
    QueuePairAddress local = setup.port(source.port()).gid(source.index()).address();
    setup.connect(
        QueuePairAddress.of(client.number(), client.gid())
            .withPsn(psn)
            .withMtu(local.mtu())
            .withReads(1));
    String id = UUID.randomUUID().toString().replace("-", "");
    idle.put(id, connection);
    return new Reply(200)
        .with(SESSION, id)
        .with(Profile.REPLY, "200:" + new QueuePairName(local.number(), local.gid(), source.port()))
        .with(PSN, "%06x".formatted(local.psn()));
  }

  private GidEntry sourceTo(Gid remote) {
    return domain.context().gidTable().stream()
        .filter(entry -> entry.type() == GidType.ROCE_V2)
        .filter(entry -> entry.gid().isIpv4Mapped() == remote.isIpv4Mapped())
        .findFirst()
        .orElseThrow(() -> S3Exception.invalid("no GID of the family of " + remote));
  }

  Reply disconnect(S3Request request) {
    Initiator connection = idle.remove(request.header(SESSION).orElse(""));
    if (connection != null) {
      connection.close();
    }
    return new Reply(204);
  }

  CompletionStatus move(boolean isWrite, Token token, byte[] data) {
    Initiator connection = idle.remove(token.connection());
    if (connection == null) {
      throw S3Exception.internal("no idle connection " + token.connection());
    }
    CompletionStatus status = CompletionStatus.GENERAL_ERR;
    try {
      status = connection.move(isWrite, token, 0, data);
    } finally {
      if (status == CompletionStatus.SUCCESS) {
        idle.put(token.connection(), connection);
      } else {
        connection.close();
      }
    }
    return status;
  }
}
