import { flag, list, rows, text, whole } from './schemas.mjs';

const NO_LIST = { default: [] };
const POST = {
  id: whole('Id of the post.'),
  username: text('Who wrote it.'),
  content: text('What it says.'),
  tags: list('string', 'Tags that belong to it.'),
  mentions: list('string', 'Users that it mentions.'),
};

/** @type {import('./schemas.mjs').Service} */
export const posts = {
  about:
    'One of the tools of a service for public posts, by which users write short posts, pass on and comment those of others, and follow each other. What this tool does:',
  open: ({ next = 3, user = 'john' } = {}) => ({ user, next, posts: earlierPosts(next, user) }),
  tools: [
    {
      name: 'authenticate_twitter',
      does: 'Logs a user in by name and password.',
      takes: { username: text('Name of the user.'), password: text('Password of the user.') },
      gives: { authentication_status: flag('True where the user is logged in now.') },
      run: (state, { username }) => {
        state.user = username;
        return { authentication_status: true };
      },
    },
    {
      name: 'comment',
      does: 'Comments a post as the user who is logged in.',
      takes: { tweet_id: whole('Id of the post to comment.'), comment_content: text('What the comment says.') },
      gives: { comment_status: text('How it went, as a sentence.') },
      run: (state, { tweet_id }) => {
        postOf(state, tweet_id);
        return { comment_status: 'Comment added successfully' };
      },
    },
    {
      name: 'follow_user',
      does: 'Follows another user as the user who is logged in.',
      takes: { username_to_follow: text('Name of the user to follow.') },
      gives: { follow_status: flag('True where the user is followed now, false where it was so before.') },
      run: () => ({ follow_status: true }),
    },
    {
      name: 'get_tweet',
      does: 'Gives one post.',
      takes: { tweet_id: whole('Id of the post to give.') },
      gives: POST,
      as: 'post',
      run: (state, { tweet_id }) => postOf(state, tweet_id),
    },
    {
      name: 'get_tweet_comments',
      does: 'Gives all comments of a post.',
      takes: { tweet_id: whole('Id of the post whose comments are given.') },
      gives: {
        comments: rows(
          { username: text('Who wrote the comment.'), content: text('What the comment says.') },
          'The comments, one after the other.',
        ),
      },
      as: 'comments',
      run: () => ({ comments: [] }),
    },
    {
      name: 'get_user_stats',
      does: 'Gives figures about a user.',
      takes: { username: text('Name of the user whose figures are given.') },
      gives: {
        tweet_count: whole('How many posts the user has written.'),
        following_count: whole('How many users the user follows.'),
        retweet_count: whole('How many posts the user has passed on.'),
      },
      as: 'stats',
      run: (state) => ({ tweet_count: state.posts.length, following_count: 0, retweet_count: 0 }),
    },
    {
      name: 'get_user_tweets',
      does: 'Gives all posts of a user.',
      takes: { username: text('Name of the user whose posts are given.') },
      gives: { user_tweets: rows(POST, 'The posts, one after the other.') },
      as: 'posts',
      run: (state, { username }) => ({ user_tweets: state.posts.filter((post) => post.username === username) }),
    },
    {
      name: 'list_all_following',
      does: 'Lists the users whom the user who is logged in follows.',
      takes: {},
      gives: { following_list: list('string', 'Names of all users who are followed.') },
      as: 'following',
      run: () => ({ following_list: [] }),
    },
    {
      name: 'mention',
      does: 'Adds mentions of users to a post.',
      takes: {
        tweet_id: whole('Id of the post that gets the mentions.'),
        mentioned_usernames: list('string', 'Names of the users to mention.'),
      },
      gives: { mention_status: text('How it went, as a sentence.') },
      run: (state, { tweet_id, mentioned_usernames }) => {
        postOf(state, tweet_id).mentions.push(...mentioned_usernames);
        return { mention_status: 'Users mentioned successfully' };
      },
    },
    {
      name: 'post_tweet',
      does: 'Writes a post as the user who is logged in.',
      takes: {
        content: text('What the post says.'),
        tags: list(
          'string',
          'Tags of the post, each of which begins with #. Needed only where the user wants the post to have tags.',
          NO_LIST,
        ),
        mentions: list(
          'string',
          'Users that the post mentions, each beginning with @. Needed only where the user wants somebody to be mentioned.',
          NO_LIST,
        ),
      },
      gives: POST,
      as: 'post',
      changes: true,
      run: (state, { content, tags, mentions }) => {
        const post = { id: state.next++, username: state.user, content, tags: [...tags], mentions: [...mentions] };
        state.posts.push(post);
        return post;
      },
    },
    {
      name: 'posting_get_login_status',
      does: 'Tells whether a user is logged in.',
      takes: {},
      gives: { login_status: flag('True where a user is logged in.') },
      as: 'login',
      run: () => ({ login_status: true }),
    },
    {
      name: 'retweet',
      does: 'Passes a post on as the user who is logged in.',
      takes: { tweet_id: whole('Id of the post to pass on.') },
      gives: { retweet_status: text('How it went, as a sentence.') },
      run: (state, { tweet_id }) => {
        postOf(state, tweet_id);
        return { retweet_status: 'Successfully retweeted' };
      },
    },
    {
      name: 'search_tweets',
      does: 'Finds the posts that contain a word.',
      takes: { keyword: text('The word to look for in what posts say.') },
      gives: { matching_tweets: rows(POST, 'The posts that have it, one after the other.') },
      as: 'found',
      run: (state, { keyword }) => ({
        matching_tweets: state.posts.filter(({ content }) => content.includes(keyword)),
      }),
    },
    {
      name: 'unfollow_user',
      does: 'Stops following a user, as the user who is logged in.',
      takes: { username_to_unfollow: text('Name of the user who is no longer followed.') },
      gives: { unfollow_status: flag('True where the user was followed before, false where not.') },
      run: () => ({ unfollow_status: true }),
    },
  ],
};

/** The posts that exist at the start of a task, up to the id of the first post that the task creates. */
function earlierPosts(next, username) {
  return Array.from({ length: next }, (_, id) => ({ id, username, content: `Post ${id}`, tags: [], mentions: [] }));
}

function postOf({ posts: known }, id) {
  const post = known.find((one) => one.id === id);
  if (post === undefined) throw new Error(`There is no post ${id}.`);
  return post;
}
