import com.hazelcast.cluster.MembershipEvent;
import com.hazelcast.cluster.MembershipListener;
import com.hazelcast.config.Config;
import com.hazelcast.config.JoinConfig;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.map.IMap;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** One of three members of Hazelcast; the one that is started last uses a map and kills another. */
final class Hazelcast {
  private static final List<String> MEMBERS = List.of("127.0.0.2", "127.0.0.3", "127.0.0.4");
  private static final int ENTRIES = 10_000;
  private static final byte[] VALUE = new byte[1_000];

  public static void main(String[] args) throws Exception {
    HazelcastInstance member = start(args[0]);
    if (!args[0].equals(MEMBERS.getLast())) {
      return;
    }
    try {
      putGetAndKill(member, ProcessHandle.of(Long.parseLong(args[1])).orElseThrow());
    } finally {
      member.shutdown();
    }
  }

  private static void putGetAndKill(HazelcastInstance member, ProcessHandle other)
      throws InterruptedException {
    while (member.getCluster().getMembers().size() < MEMBERS.size()) {
      Thread.sleep(100);
    }
    new Random(42).nextBytes(VALUE);
    IMap<Integer, byte[]> map = member.getMap("values");
    Cost cost = new Cost();
    for (int i = 0; i < ENTRIES; i++) {
      map.put(i, value(i));
    }
    check(map);
    cost.print(ENTRIES + " entries of " + VALUE.length + " bytes put and read");

    IMap<String, Long> noticed = member.getMap("noticed");
    long killed = System.currentTimeMillis();
    other.destroyForcibly();
    while (noticed.size() < MEMBERS.size() - 1) {
      Thread.sleep(10);
    }
    for (String address : noticed.keySet()) {
      System.out.printf(
          "%s has removed the killed member after %.1f s%n",
          address, (noticed.get(address) - killed) / 1e3);
    }
    check(map);
    System.out.println("all entries read again");
  }

  private static HazelcastInstance start(String address) {
    Config config = new Config().setProperty("hazelcast.socket.bind.any", "false");
    config.setProperty("hazelcast.phone.home.enabled", "false");
    System.setProperty("hazelcast.local.localAddress", address);
    JoinConfig join = config.getNetworkConfig().getJoin();
    join.getAutoDetectionConfig().setEnabled(false);
    join.getTcpIpConfig().setEnabled(true).setMembers(MEMBERS);
    HazelcastInstance member = com.hazelcast.core.Hazelcast.newHazelcastInstance(config);
    IMap<String, Long> noticed = member.getMap("noticed");
    member
        .getCluster()
        .addMembershipListener(
            new MembershipListener() {
              @Override
              public void memberAdded(MembershipEvent event) {}

              @Override
              public void memberRemoved(MembershipEvent event) {
                noticed.putAsync(address, System.currentTimeMillis());
              }
            });
    return member;
  }

  private static void check(IMap<Integer, byte[]> map) {
    for (int i = 0; i < ENTRIES; i++) {
      if (!Arrays.equals(value(i), map.get(i))) {
        throw new AssertionError("entry " + i);
      }
    }
  }

  private static byte[] value(int i) {
    byte[] value = VALUE.clone();
    value[i % value.length] ^= (byte) i;
    return value;
  }
}
